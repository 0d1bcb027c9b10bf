//! What can be wrong with keys, users and credentials at this end; never what a peer sent.

use thiserror::Error;

/// A key, a file of users or credentials that cannot be used.
///
/// No text shows a secret, nor any part of a file that may hold one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AuthenticationError {
    /// The text is not PEM, or is cut off.
    #[error("failed to read a key: the file is no valid PEM (RFC 7468)")]
    Pem,

    /// There is no block of a public key.
    #[error(
        "failed to find a PEM block PUBLIC KEY (make it of the private key: openssl pkey \
         -in private.pem -pubout -out public.pem)"
    )]
    NoPublicKey,

    /// There is no block of a private key.
    #[error(
        "failed to find a PEM block PRIVATE KEY or RSA PRIVATE KEY (make a key: openssl genrsa \
         -out private.pem 2048)"
    )]
    NoPrivateKey,

    /// A pass phrase protects the private key.
    #[error(
        "failed to read the private key: a pass phrase protects it (remove it: openssl pkey \
         -in private.pem -out unprotected.pem)"
    )]
    EncryptedKey,

    /// The block holds a key of another kind or size.
    #[error("failed to use the key: it is no RSA key of 2048 to 8192 bits")]
    UnfitKey,

    /// The user name is empty.
    #[error("failed to take the user name: it is empty")]
    EmptyUserName,

    /// The user name is longer than any that a server takes.
    #[error("failed to take the user name: it has {bytes} bytes, {most} at most")]
    LongUserName {
        /// Its length.
        bytes: usize,
        /// The longest.
        most: usize,
    },

    /// The user name has a character that no file of users can hold.
    #[error("failed to take the user name: it has a comma or a control character")]
    UserNameCharacter,

    /// The password is empty.
    #[error("failed to take the password: it is empty")]
    EmptyPassword,

    /// The password has a character that would end it.
    #[error("failed to take the password: it has a control character, such as an end of line")]
    PasswordCharacter,

    /// The key has no room for the credentials.
    #[error(
        "failed to make a token: user name and password are {excess_bytes} bytes longer than \
         this key can take (use a larger key, or a shorter password)"
    )]
    LongCredentials {
        /// How much shorter they must be.
        excess_bytes: usize,
    },

    /// The cryptographic library refused to encrypt.
    #[error("failed to encrypt the token with this key (make a new pair of keys)")]
    Encrypt,

    /// The file of users is too large to be read for each test.
    #[error("failed to read the users: the file has {bytes} bytes, {most} at most")]
    LargeUsers {
        /// Its size.
        bytes: usize,
        /// The largest.
        most: usize,
    },

    /// The file of users has too many lines to be searched for each test.
    #[error("failed to read the users: the file has more than {most} lines")]
    ManyUsers {
        /// The most.
        most: usize,
    },

    /// A line of the file of users is neither a user nor a comment.
    #[error(
        "failed to read line {line} of the users (write NAME,HASH with the SHA-256 of \
         {{NAME}}PASSWORD in hexadecimal digits)"
    )]
    UsersLine {
        /// The line, from 1.
        line: usize,
    },
}
