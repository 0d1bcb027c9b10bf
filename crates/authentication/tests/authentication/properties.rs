//! What holds for whatever a peer sends, and for whatever a file of users says.

use std::fmt::Write;
use std::sync::OnceLock;

use linerate_authentication::{Padding, Refusal, TokenVerifier, Users};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::support::{NOW_SECONDS, alices_token, token_of, users, verifier};

/// One verifier for all cases: reading a key takes longer than judging a token.
fn shared_gate(padding: Padding) -> &'static TokenVerifier {
    static GATES: [OnceLock<TokenVerifier>; 2] = [OnceLock::new(), OnceLock::new()];
    let index = usize::from(padding == Padding::Pkcs1);
    GATES[index].get_or_init(|| verifier(padding))
}

/// The file of users with one of them.
fn users_of(user: &str, password: &str) -> Users {
    let hash = Sha256::digest(format!("{{{user}}}{password}"));
    let mut line = format!("{user},");
    for byte in hash {
        write!(line, "{byte:02x}").expect("a string takes all that is written");
    }
    Users::parse(&line).expect("users")
}

fn any_padding() -> impl Strategy<Value = Padding> {
    prop_oneof![Just(Padding::Oaep), Just(Padding::Pkcs1)]
}

proptest! {
    #[test]
    fn any_text_is_malformed(token in any::<String>(), padding in any_padding()) {
        let refused = shared_gate(padding).verify(Some(&token), NOW_SECONDS, &users());
        let expected = if token.is_empty() { Refusal::EmptyToken } else { Refusal::Malformed };
        prop_assert_eq!(refused, Err(expected));
    }

    #[test]
    fn any_token_of_the_right_form_is_a_wrong_password(
        token in "[A-Za-z0-9+/]{341}[AQgw]==",
        padding in any_padding(),
        now_seconds in any::<u64>(),
    ) {
        let refused = shared_gate(padding).verify(Some(&token), now_seconds, &users());
        prop_assert_eq!(refused, Err(Refusal::WrongPassword));
    }

    #[test]
    fn a_changed_token_never_admits(position in 0_usize..341, digit in "[A-Za-z0-9+/]") {
        let mut token = alices_token();
        prop_assume!(token[position..=position] != digit);
        token.replace_range(position..=position, &digit);
        let refused = shared_gate(Padding::Oaep).verify(Some(&token), NOW_SECONDS, &users());
        prop_assert_eq!(refused, Err(Refusal::WrongPassword));
    }

    #[test]
    fn any_credentials_survive_the_way(
        user in "[^\\p{Cc},#][^\\p{Cc},]{0,19}",
        password in "[^\\p{Cc}]{1,20}",
        padding in any_padding(),
    ) {
        let users = users_of(&user, &password);
        let token = token_of(&user, &password, NOW_SECONDS, padding);
        let admitted = verifier(padding).verify(Some(&token), NOW_SECONDS, &users);
        prop_assert_eq!(admitted.map(|user| user.to_string()), Ok(user));
    }

    #[test]
    fn any_text_is_users_or_not(text in "(?s)([a-z#]{0,3},?[0-9a-f]{0,64}[,\r\n]{0,2}|.){0,20}") {
        let _ = Users::parse(&text);
    }
}
