//! Random bytes of the kernel (getrandom(2)).

use std::io;

/// `N` random bytes of the kernel's generator (getrandom(2)).
///
/// # Errors
/// The errors of getrandom(2); it does not fail once the system has booted.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// Fills `bytes` with random bytes of the kernel's generator (getrandom(2)).
///
/// # Errors
/// The errors of getrandom(2); it does not fail once the system has booted.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: the pointer and the length describe `rest`, which is writable.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => filled += got,
            Err(_) => retry_if_interrupted()?,
        }
    }
    Ok(())
}

fn retry_if_interrupted() -> io::Result<()> {
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_draws_differ() {
        let draw = || super::random::<32>().expect("entropy");
        assert_ne!(draw(), draw());
    }
}
