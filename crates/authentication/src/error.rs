//! Errors of keys, users and credentials at this end; never of what a peer sent.

use thiserror::Error;

/// Error of reading a key or a users file, or of checking credentials.
///
/// No text shows a secret, nor any part of a file that may hold one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AuthenticationError {
    /// The text is not PEM, or is truncated.
    #[error("failed to read a key: the file is no valid PEM (RFC 7468)")]
    Pem,

    /// There is no PEM block with a public key.
    #[error(
        "failed to find a PEM block PUBLIC KEY (make it of the private key: openssl pkey \
         -in private.pem -pubout -out public.pem)"
    )]
    NoPublicKey,

    /// There is no PEM block with a private key.
    #[error(
        "failed to find a PEM block PRIVATE KEY or RSA PRIVATE KEY (make a key: openssl genrsa \
         -out private.pem 2048)"
    )]
    NoPrivateKey,

    /// The private key is encrypted with a pass phrase.
    #[error(
        "failed to read the private key: a pass phrase protects it (remove it: openssl pkey \
         -in private.pem -out unprotected.pem)"
    )]
    EncryptedKey,

    /// The key is not an RSA key, or its size is not supported.
    #[error("failed to use the key: it is no RSA key of 2048 to 8192 bits")]
    UnfitKey,

    /// The user name is empty.
    #[error("failed to take the user name: it is empty")]
    EmptyUserName,

    /// The user name is longer than a server accepts.
    #[error("failed to take the user name: it has {bytes} bytes, {most} at most")]
    LongUserName {
        /// Length of the name in bytes.
        bytes: usize,
        /// The maximum in bytes.
        most: usize,
    },

    /// The user name has a character that a users file cannot hold.
    #[error("failed to take the user name: it has a comma or a control character")]
    UserNameCharacter,

    /// The password is empty.
    #[error("failed to take the password: it is empty")]
    EmptyPassword,

    /// The password has a control character, such as a line end, which would end it.
    #[error("failed to take the password: it has a control character, such as an end of line")]
    PasswordCharacter,

    /// User name and password do not fit the key.
    #[error(
        "failed to make a token: user name and password are {excess_bytes} bytes longer than \
         this key can take (use a larger key, or a shorter password)"
    )]
    LongCredentials {
        /// Number of bytes above the limit.
        excess_bytes: usize,
    },

    /// The cryptographic library failed to encrypt.
    #[error("failed to encrypt the token with this key (make a new pair of keys)")]
    Encrypt,

    /// The users file is too large to be read for each test.
    #[error("failed to read the users: the file has {bytes} bytes, {most} at most")]
    LargeUsers {
        /// Size of the file in bytes.
        bytes: usize,
        /// The maximum in bytes.
        most: usize,
    },

    /// The users file has too many lines to be searched for each test.
    #[error("failed to read the users: the file has more than {most} lines")]
    ManyUsers {
        /// The maximum number of lines.
        most: usize,
    },

    /// A line of the users file is neither a user nor a comment.
    #[error(
        "failed to read line {line} of the users (write NAME,HASH with the SHA-256 of \
         {{NAME}}PASSWORD in hexadecimal digits)"
    )]
    UsersLine {
        /// Number of the line, from 1.
        line: usize,
    },
}
