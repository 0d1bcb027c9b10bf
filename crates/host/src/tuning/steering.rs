//! Which CPUs take the packets of a queue: RPS and RFS of receive queues, XPS of transmit queues
//! (Documentation/networking/scaling.rst). An interface that is restarted may lose all three.

use measurement::remedy::{CpuMask, Setting};

use super::file_setting::{FileSetting, Form};

/// RPS of a receive queue.
pub(super) fn rps(interface: &str, queue: u32, cpus: &CpuMask) -> FileSetting {
    let setting = Setting::RpsCpus { interface: interface.to_owned(), queue, cpus: cpus.clone() };
    let with = |setting: &Setting, text: &str| {
        let Setting::RpsCpus { interface, queue, .. } = setting else { return None };
        let (interface, cpus) = (interface.clone(), text.parse().ok()?);
        Some(Setting::RpsCpus { interface, queue: *queue, cpus })
    };
    let file = format!("rx-{queue}/rps_cpus");
    of_queue(setting, interface, &file, cpus.to_string(), Form::Mask, with)
}

/// RFS of a receive queue: its number of flows.
pub(super) fn rfs(interface: &str, queue: u32, entries: u64) -> FileSetting {
    let setting = Setting::RpsFlows { interface: interface.to_owned(), queue, entries };
    let with = |setting: &Setting, text: &str| {
        let Setting::RpsFlows { interface, queue, .. } = setting else { return None };
        let (interface, entries) = (interface.clone(), text.parse().ok()?);
        Some(Setting::RpsFlows { interface, queue: *queue, entries })
    };
    let file = format!("rx-{queue}/rps_flow_cnt");
    of_queue(setting, interface, &file, entries.to_string(), Form::Number, with)
}

/// XPS of a transmit queue.
pub(super) fn xps(interface: &str, queue: u32, cpus: &CpuMask) -> FileSetting {
    let setting = Setting::XpsCpus { interface: interface.to_owned(), queue, cpus: cpus.clone() };
    let with = |setting: &Setting, text: &str| {
        let Setting::XpsCpus { interface, queue, .. } = setting else { return None };
        let (interface, cpus) = (interface.clone(), text.parse().ok()?);
        Some(Setting::XpsCpus { interface, queue: *queue, cpus })
    };
    let file = format!("tx-{queue}/xps_cpus");
    of_queue(setting, interface, &file, cpus.to_string(), Form::Mask, with)
}

fn of_queue(
    setting: Setting,
    interface: &str,
    file: &str,
    value: String,
    form: Form,
    with: fn(&Setting, &str) -> Option<Setting>,
) -> FileSetting {
    FileSetting {
        setting,
        path: format!("sys/class/net/{interface}/queues/{file}"),
        interface: Some(interface.to_owned()),
        value,
        form,
        with,
        risks: &[],
        rewriters: &["tuned", "irqbalance"],
    }
}
