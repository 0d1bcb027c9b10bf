//! How names are looked up by a C library that is linked statically.

/// Has hosts and users looked up in files and the DNS alone. A static glibc would load the modules
/// of nsswitch.conf(5) from this host, whose glibc is another one. It must be called before other
/// threads start.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
pub fn look_up_without_modules() {
    use std::ffi::{CStr, c_char, c_int};

    unsafe extern "C" {
        // glibc, nss/nss.h.
        fn __nss_configure_lookup(database: *const c_char, services: *const c_char) -> c_int;
    }
    const SERVICES: [(&CStr, &CStr); 4] = [
        (c"hosts", c"files dns"),
        (c"services", c"files"),
        (c"passwd", c"files"),
        (c"group", c"files"),
    ];
    for (database, services) in SERVICES {
        // SAFETY: both are strings that live as long as the program, and no other thread runs. A
        // database that this glibc does not know is an error without effect.
        unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
    }
}

/// Nothing: a C library that is loaded has its own modules, and musl has none.
#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
pub const fn look_up_without_modules() {}
