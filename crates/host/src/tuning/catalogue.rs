//! What can be changed: the kind of each setting.

use measurement::remedy::Setting;

use super::adjustable::Adjustable;
use super::{
    Refusal, amounts, big_tcp, device, feature, governor, huge_pages, irq_affinity, link_mode, mtu,
    qdisc, queue_length, rss, service, steering, sysctl, threaded_napi,
};

/// How a setting is changed.
pub(super) fn adjustable(setting: &Setting) -> Result<Box<dyn Adjustable>, Refusal> {
    if setting.is_option() {
        return Err(Refusal::Option);
    }
    let adjustable = of_host(setting).or_else(|| of_files(setting)).or_else(|| of_device(setting));
    let adjustable = adjustable.ok_or(Refusal::NotListed)??;
    if adjustable.interface().is_some_and(|name| !is_name(name)) {
        return Err(Refusal::Absent { what: "an interface of that name".to_owned() });
    }
    Ok(adjustable)
}

type Found = Option<Result<Box<dyn Adjustable>, Refusal>>;

/// Settings of the whole host.
fn of_host(setting: &Setting) -> Found {
    Some(match setting {
        Setting::Sysctl { name, value } => {
            sysctl::Sysctl::new(name, value).map(|sysctl| Box::new(sysctl) as _)
        }
        Setting::IrqAffinity { irq, cpus } => {
            Ok(Box::new(irq_affinity::IrqAffinity::new(*irq, cpus)))
        }
        Setting::CpuGovernor { governor } => Ok(Box::new(governor::Governor::new(governor))),
        Setting::StoppedService { service } => {
            service::StoppedService::new(service).map(|service| Box::new(service) as _)
        }
        Setting::TransparentHugePages { pages } => Ok(Box::new(huge_pages::transparent(*pages))),
        _ => return None,
    })
}

/// Files of interfaces, and settings of links.
fn of_files(setting: &Setting) -> Found {
    Some(Ok(match setting {
        Setting::RpsCpus { interface, queue, cpus } => {
            Box::new(steering::rps(interface, *queue, cpus))
        }
        Setting::RpsFlows { interface, queue, entries } => {
            Box::new(steering::rfs(interface, *queue, *entries))
        }
        Setting::XpsCpus { interface, queue, cpus } => {
            Box::new(steering::xps(interface, *queue, cpus))
        }
        Setting::ThreadedNapi { interface, state } => {
            Box::new(threaded_napi::threaded_napi(interface, *state))
        }
        Setting::Mtu { interface, bytes } => Box::new(mtu::Mtu::new(interface, *bytes)),
        Setting::QueueLength { interface, packets } => {
            Box::new(queue_length::QueueLength::new(interface, *packets))
        }
        Setting::RootQdisc { interface, kind } => Box::new(qdisc::Qdisc::of_kind(interface, kind)),
        Setting::DefaultQdisc { interface } => Box::new(qdisc::Qdisc::default_of(interface)),
        Setting::BigTcp { interface, bytes } => Box::new(big_tcp::BigTcp::new(interface, *bytes)),
        _ => return None,
    }))
}

/// Settings of devices by ethtool.
fn of_device(setting: &Setting) -> Found {
    let device = |interface: &str, kind| Box::new(device::Device::new(interface, kind));
    Some(Ok(match setting {
        Setting::Feature { interface, feature, state } => {
            Box::new(feature::Features::new(interface, feature, *state))
        }
        Setting::Ring { interface, ring, entries } => {
            Box::new(amounts::Amount::ring(interface, *ring, *entries))
        }
        Setting::Channels { interface, kind, count } => {
            Box::new(amounts::Amount::channels(interface, *kind, *count))
        }
        Setting::Coalescing { interface, parameter } => {
            device(interface, device::Kind::Coalescing(*parameter))
        }
        Setting::PauseFrames { interface, side, state } => {
            device(interface, device::Kind::Pause(*side, *state))
        }
        Setting::Eee { interface, state } => device(interface, device::Kind::Eee(*state)),
        Setting::Autonegotiation { interface, state } => {
            Box::new(link_mode::LinkMode::negotiated(interface, *state))
        }
        Setting::FixedSpeed { interface, mbps, duplex } => {
            Box::new(link_mode::LinkMode::fixed(interface, *mbps, *duplex))
        }
        Setting::RssQueues { interface, queues } => {
            Box::new(rss::RssQueues::new(interface, *queues))
        }
        _ => return None,
    }))
}

/// Whether the kernel takes a name for an interface (`dev_valid_name`, net/core/dev.c), so that it
/// is one folder in a path.
fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| !letter.is_whitespace() && !"/:".contains(letter);
    (1..16).contains(&name.len()) && !matches!(name, "." | "..") && name.chars().all(is_plain)
}
