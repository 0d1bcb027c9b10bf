//! Transparent huge pages (Documentation/admin-guide/mm/transhuge.rst). Reserved ones are the
//! variable `vm.nr_hugepages`.

use measurement::remedy::{HugePages, Setting};

use super::Risk;
use super::file_setting::{FileSetting, Form};

pub(super) fn transparent(pages: HugePages) -> FileSetting {
    let with = |_: &Setting, text: &str| {
        HugePages::from_name(text).map(|pages| Setting::TransparentHugePages { pages })
    };
    FileSetting {
        setting: Setting::TransparentHugePages { pages },
        path: "sys/kernel/mm/transparent_hugepage/enabled".to_owned(),
        interface: None,
        value: pages.name().to_owned(),
        form: Form::Choice,
        with,
        risks: &[Risk::WholeHost],
        rewriters: &["tuned"],
    }
}
