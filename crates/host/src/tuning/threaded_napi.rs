//! Threaded NAPI: packets are received in threads of the kernel, which the scheduler places, and
//! not in softirqs (Documentation/networking/napi.rst).

use measurement::remedy::{Setting, Switch};

use super::file_setting::{FileSetting, Form};

pub(super) fn threaded_napi(interface: &str, state: Switch) -> FileSetting {
    let with = |setting: &Setting, text: &str| {
        let Setting::ThreadedNapi { interface, .. } = setting else { return None };
        let state = match text {
            "0" => Switch::Off,
            "1" => Switch::On,
            // Busy polling by the thread, or a state of some queues only.
            _ => return None,
        };
        Some(Setting::ThreadedNapi { interface: interface.clone(), state })
    };
    FileSetting {
        setting: Setting::ThreadedNapi { interface: interface.to_owned(), state },
        path: format!("sys/class/net/{interface}/threaded"),
        interface: Some(interface.to_owned()),
        value: u8::from(state == Switch::On).to_string(),
        form: Form::Number,
        with,
        risks: &[],
        rewriters: &[],
    }
}
