//! Settings as rules of udev(7), which act when a device appears.

use measurement::remedy::{Setting, Switch};

use super::is_plain;

/// The rule of a setting.
///
/// # Errors
/// The reason, without a full stop.
pub(super) fn rule(setting: &Setting) -> Result<String, &'static str> {
    if let Setting::CpuGovernor { governor } = setting
        && is_plain(governor)
    {
        return Ok(format!(
            "ACTION==\"add\", SUBSYSTEM==\"cpu\", KERNEL==\"cpu[0-9]*\", \
             ATTR{{cpufreq/scaling_governor}}=\"{governor}\"\n"
        ));
    }
    let interface = interface(setting).ok_or(NO_DEVICE)?;
    let is_plain_word = |word| word == ">" || is_plain(word);
    let command = setting.to_string();
    if !command.split([' ', '/']).filter(|word| !word.is_empty()).all(is_plain_word) {
        return Err("its command has letters that a rule cannot have");
    }
    // A new name is a move: the name is then the one that users know.
    let key = format!("ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{interface}\", ");
    Ok(match attribute(setting) {
        Some((name, value)) => format!("{key}ATTR{{{name}}}=\"{value}\"\n"),
        None => format!("{key}RUN+=\"/bin/sh -c '{command}'\"\n"),
    })
}

/// The file of a setting below the folder of its interface, and its value.
fn attribute(setting: &Setting) -> Option<(String, String)> {
    Some(match setting {
        Setting::RpsCpus { queue, cpus, .. } => {
            (format!("queues/rx-{queue}/rps_cpus"), cpus.to_string())
        }
        Setting::RpsFlows { queue, entries, .. } => {
            (format!("queues/rx-{queue}/rps_flow_cnt"), entries.to_string())
        }
        Setting::XpsCpus { queue, cpus, .. } => {
            (format!("queues/tx-{queue}/xps_cpus"), cpus.to_string())
        }
        Setting::ThreadedNapi { state, .. } => {
            ("threaded".to_owned(), u8::from(*state == Switch::On).to_string())
        }
        Setting::QueueLength { packets, .. } => ("tx_queue_len".to_owned(), packets.to_string()),
        Setting::Mtu { bytes, .. } => ("mtu".to_owned(), bytes.to_string()),
        _ => return None,
    })
}

/// The interface of a setting.
fn interface(setting: &Setting) -> Option<&str> {
    match setting {
        Setting::RpsCpus { interface, .. }
        | Setting::RpsFlows { interface, .. }
        | Setting::XpsCpus { interface, .. }
        | Setting::ThreadedNapi { interface, .. }
        | Setting::QueueLength { interface, .. }
        | Setting::Mtu { interface, .. }
        | Setting::Ring { interface, .. }
        | Setting::Channels { interface, .. }
        | Setting::Feature { interface, .. }
        | Setting::Coalescing { interface, .. }
        | Setting::PauseFrames { interface, .. }
        | Setting::Eee { interface, .. }
        | Setting::Autonegotiation { interface, .. }
        | Setting::FixedSpeed { interface, .. }
        | Setting::RssQueues { interface, .. }
        | Setting::RootQdisc { interface, .. }
        | Setting::DefaultQdisc { interface }
        | Setting::BigTcp { interface, .. } => Some(interface),
        _ => None,
    }
}

const NO_DEVICE: &str =
    "a rule of udev sets interfaces and CPUs alone: choose systemd, openwrt or shell";
