//! Acknowledgements: success, an errno, or an errno with an explanation
//! (`NETLINK_EXT_ACK`).

use std::ffi::CStr;
use std::fmt;
use std::io;

use super::kernel::{NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSGERR_ATTR_MSG};
use super::message::{HEADER_BYTES, Reply, aligned, attribute, u32_at};

/// An errno with the kernel's explanation in words (`NETLINK_EXT_ACK`).
///
/// It is the inner error of an [`io::Error`] with the kind of its `errno`.
#[derive(Debug)]
pub struct ExtendedAck {
    errno: i32,
    explanation: String,
}

impl fmt::Display for ExtendedAck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        write!(formatter, "{}: {error}", self.explanation)
    }
}

impl std::error::Error for ExtendedAck {}

/// The errno of an error, whether or not the kernel explained it. `None` if the error is
/// not the kernel's.
///
/// [`io::Error::raw_os_error`] is `None` for an explained one.
pub fn errno(error: &io::Error) -> Option<i32> {
    let explained = || Some(error.get_ref()?.downcast_ref::<ExtendedAck>()?.errno);
    error.raw_os_error().or_else(explained)
}

/// Decodes a message of kind `NLMSG_ERROR` (`struct nlmsgerr`, `linux/netlink.h`): the
/// negative errno or zero, the request or its header, then attributes.
pub(super) fn parse(reply: &Reply) -> io::Result<()> {
    let code = reply.payload.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
    match code {
        None => Err(io::ErrorKind::InvalidData.into()),
        Some(0) => Ok(()),
        Some(code) => Err(error(code.wrapping_neg(), explanation(reply))),
    }
}

fn error(errno: i32, explanation: Option<String>) -> io::Error {
    let plain = io::Error::from_raw_os_error(errno);
    match explanation {
        None => plain,
        Some(explanation) => io::Error::new(plain.kind(), ExtendedAck { errno, explanation }),
    }
}

fn explanation(reply: &Reply) -> Option<String> {
    if reply.flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let echo = reply.payload.get(CODE_BYTES..)?;
    let echo_bytes = if reply.flags & NLM_F_CAPPED == 0 {
        aligned(usize::try_from(u32_at(echo, 0..4)?).ok()?)
    } else {
        HEADER_BYTES
    };
    let text = attribute(echo.get(echo_bytes..)?, NLMSGERR_ATTR_MSG)?;
    let text = CStr::from_bytes_until_nul(text).ok()?;
    Some(text.to_string_lossy().into_owned())
}

const CODE_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::super::message::Message;
    use super::*;

    fn refused(flags: u16, payload: &[u8]) -> io::Result<()> {
        let header = Reply { kind: 2, flags, sequence: 1, payload };
        parse(&header)
    }

    #[test]
    fn zero_is_an_acknowledgement() {
        assert!(refused(0, &[0; 20]).is_ok());
    }

    #[test]
    fn a_plain_refusal_is_its_errno() {
        let payload = (-libc::EPERM).to_ne_bytes();
        let error = refused(0, &payload).expect_err("refused");
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        assert_eq!(errno(&error), Some(libc::EPERM));
    }

    #[test]
    fn an_explained_refusal_keeps_errno_kind_and_words() {
        // With the request echoed in full, and capped to its header.
        for (flags, echoed) in [(NLM_F_ACK_TLVS, 24), (NLM_F_ACK_TLVS | NLM_F_CAPPED, 16)] {
            let request = Message::new(36, 0, &[0; 8]).finish(1);
            let attributes =
                Message::new(0, 0, &[]).attribute(NLMSGERR_ATTR_MSG, b"Unknown qdisc\0").finish(0);
            let mut payload = (-libc::ENOENT).to_ne_bytes().to_vec();
            payload.extend(&request[..echoed]);
            payload.extend(&attributes[HEADER_BYTES..]);
            let error = refused(flags, &payload).expect_err("refused");
            assert_eq!(errno(&error), Some(libc::ENOENT));
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(error.to_string().starts_with("Unknown qdisc: "), "{error}");
        }
    }

    #[test]
    fn an_acknowledgement_without_a_code_is_invalid() {
        assert_eq!(refused(0, &[]).expect_err("refused").kind(), io::ErrorKind::InvalidData);
    }
}
