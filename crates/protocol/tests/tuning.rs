//! Both ends of a tuning by another host, and what somebody between them or without the key can do.

use std::time::Duration;

use linerate_protocol::iperf3::Cookie;
use linerate_protocol::tuning::{
    Answer, Broken, ClientSide, GREETING, HostSide, MOST_SETTINGS, ReadBack, Request, SharedKey,
    is_greeting,
};
use measurement::Timestamp;
use measurement::remedy::Setting;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp::from_nanos(1);

fn key(letter: &str) -> SharedKey {
    SharedKey::parse(&letter.repeat(32)).expect("a key")
}

fn setting() -> Setting {
    "sysctl -w net.core.rmem_max=8388608".parse().expect("a command")
}

/// Both ends with keys, and what the client sent with its proof.
fn ends(client: &SharedKey, host: &SharedKey) -> (ClientSide, HostSide, Result<(), Broken>) {
    let (mut client, mut host) =
        (ClientSide::new(client, [1; 32]), HostSide::new(host, [2; 32], NOW));
    assert_eq!(client.take_output(), GREETING);
    let met = client
        .receive(&host.take_output())
        .and_then(|_| host.receive(&client.take_output(), NOW))
        .and_then(|_| client.receive(&host.take_output()))
        .map(|_| ());
    (client, host, met)
}

fn open() -> (ClientSide, HostSide) {
    let (client, host, met) = ends(&key("k"), &key("k"));
    assert_eq!(met, Ok(()));
    assert!(client.is_open() && host.is_proved());
    (client, host)
}

#[test]
fn requests_and_answers_arrive_byte_by_byte() {
    let (mut client, mut host) = open();
    let sent =
        [Request::Look(setting()), Request::Set(vec![setting()]), Request::Keep, Request::Alive];
    assert!(sent.iter().all(|one| client.request(one)));
    let bytes = client.take_output();
    let came = bytes.iter().flat_map(|byte| host.receive(&[*byte], NOW).expect("whole"));
    assert_eq!(came.collect::<Vec<_>>(), sent);
    let answers = [
        Answer::Outlook {
            current: "1".to_owned(),
            is_in_effect: false,
            undo: vec!["x".to_owned()],
            risks: vec!["y".to_owned()],
            rewriters: vec!["z".to_owned()],
        },
        Answer::Set(vec![ReadBack { setting: setting(), value: "8".to_owned() }]),
        Answer::Kept,
        Answer::Refused("no".to_owned()),
    ];
    for answer in &answers {
        host.answer(answer);
    }
    assert_eq!(client.receive(&host.take_output()), Ok(answers.to_vec()));
}

#[test]
fn an_end_without_the_key_is_refused_by_the_other() {
    let (client, mut host, met) = ends(&key("k"), &key("l"));
    assert_eq!(met, Err(Broken::Proof));
    assert!(!client.is_open() && !host.is_proved());
    host.answer(&Answer::Kept);
    assert!(host.take_output().is_empty(), "nothing is told to whom has no key");
    // A host that has not the key sends any proof.
    let mut client = ClientSide::new(&key("k"), [1; 32]);
    _ = client.take_output();
    let hello = [&[1][..], &[2; 32]].concat();
    assert_eq!(client.receive(&hello), Ok(Vec::new()));
    assert_eq!(client.receive(&[&[1][..], &[3; 32]].concat()), Err(Broken::Proof));
}

#[test]
fn a_server_without_tuning_is_told_from_a_wrong_key() {
    // An iperf3 asks for parameters, a linerate denies access.
    for byte in [9, 0xff] {
        let mut client = ClientSide::new(&key("k"), [1; 32]);
        assert_eq!(client.receive(&[byte]), Err(Broken::NotAllowed));
    }
}

#[test]
fn what_was_recorded_is_of_no_use_on_another_connection_or_later() {
    let (mut client, mut host) = open();
    assert!(client.request(&Request::Set(vec![setting()])));
    let bytes = client.take_output();
    assert_eq!(host.receive(&bytes, NOW).map(|it| it.len()), Ok(1));
    assert_eq!(host.receive(&bytes, NOW), Err(Broken::Forged), "sent again");
    // All that a client sent, to a host that has chosen another nonce.
    let mut recorded = ClientSide::new(&key("k"), [1; 32]);
    let mut first = HostSide::new(&key("k"), [2; 32], NOW);
    _ = recorded.take_output();
    _ = recorded.receive(&first.take_output());
    let proof = recorded.take_output();
    let mut second = HostSide::new(&key("k"), [3; 32], NOW);
    assert_eq!(second.receive(&proof, NOW), Err(Broken::Proof));
    // Its own answers are no requests.
    let (_, mut host) = open();
    host.answer(&Answer::Kept);
    let reflected = host.take_output();
    assert_eq!(host.receive(&reflected, NOW), Err(Broken::Forged));
}

#[test]
fn only_messages_with_a_right_code_put_the_deadline_off() {
    let later = NOW.after(Duration::from_secs(3));
    let (mut client, mut host) = open();
    let before = host.deadline();
    assert_eq!(host.receive(&[0], later), Ok(Vec::new()));
    assert_eq!(host.deadline(), before);
    let (_, mut other) = open();
    assert!(client.request(&Request::Alive));
    assert_eq!(other.receive(&client.take_output(), later), Ok(vec![Request::Alive]));
    assert!(other.deadline() > before);
}

#[test]
fn lists_and_texts_have_bounds() {
    let (mut client, mut host) = open();
    assert!(client.request(&Request::Set(vec![setting(); MOST_SETTINGS + 1])));
    assert_eq!(host.receive(&client.take_output(), NOW), Err(Broken::NoMessage));
    let (mut client, mut host) = open();
    let name = "n".repeat(20_000);
    let long = Setting::Sysctl { name, value: "1".to_owned() };
    assert!(!client.request(&Request::Look(long)), "longer than a message");
    host.answer(&Answer::Refused("x".repeat(20_000)));
    let told = client.receive(&host.take_output());
    assert_eq!(told, Ok(vec![Answer::Refused("the answer is too long".to_owned())]));
}

#[test]
fn the_greeting_is_no_cookie_of_an_iperf3() {
    let cookie = Cookie::from_wire(GREETING);
    assert!(is_greeting(&cookie) && !cookie.is_plausible());
    assert!(!is_greeting(&Cookie::from_random([0; 36])));
}

proptest! {
    #[test]
    fn nobody_without_the_key_gets_a_request_through(
        bytes in proptest::collection::vec(any::<u8>(), 0..600), cut in 1_usize..600,
    ) {
        let mut host = HostSide::new(&key("k"), [2; 32], NOW);
        for piece in bytes.chunks(cut) {
            match host.receive(piece, NOW) {
                Ok(requests) => prop_assert!(requests.is_empty() && !host.is_proved()),
                Err(broken) => {
                    prop_assert_eq!(broken, Broken::Proof);
                    break;
                }
            }
        }
    }

    #[test]
    fn with_the_key_any_text_is_a_request_or_refused(text in ".{0,200}") {
        let (mut client, mut host) = open();
        let setting = Setting::Sysctl { name: text.clone(), value: text };
        prop_assert!(client.request(&Request::Set(vec![setting])));
        let came = host.receive(&client.take_output(), NOW);
        prop_assert!(matches!(came, Ok(_) | Err(Broken::NoMessage)), "{:?}", came);
    }
}
