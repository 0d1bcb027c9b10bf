//! A host is shown, captured, and shown again from what was captured.

use std::path::Path;

use serde_json::Value;

use crate::support::{Directory, linerate, run};

/// The object that `linerate host --json` prints.
fn host(arguments: &str) -> Value {
    let finished = run(linerate(&format!("host --json {arguments}")));
    finished.assert_success();
    let value = finished.json();
    assert_eq!(value["schema"], "linerate/host/1");
    value
}

/// A host of which only files are known, from among those that tests have.
fn tree(name: &str) -> String {
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/trees");
    trees.join(name).display().to_string()
}

#[test]
fn this_host_has_cpus_and_a_loopback() {
    let value = host("");
    let inventory = &value["inventory"];
    assert!(inventory["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()), "{value}");
    assert!(inventory["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()), "{value}");
    let interfaces = inventory["interfaces"].as_array().expect("interfaces");
    assert!(interfaces.iter().any(|one| one["kind"] == "loopback"), "{value}");
    assert!(value["gaps"].is_array());
}

#[test]
fn what_was_captured_shows_the_same_host() {
    let directory = Directory::new("host-capture");
    let file = directory.file("host.tar").display().to_string();
    let finished = run(linerate(&format!("capture -o {file}")));
    finished.assert_success();
    finished.assert_prints(&["files captured to"]);
    let (live, captured) = (host(""), host(&format!("--root {file}")));
    for part in ["host", "kernel", "architecture", "cpus", "limits", "kernel_options", "boot"] {
        assert_eq!(captured["inventory"][part], live["inventory"][part], "{part}");
    }
    // It is written again without a question, as records are.
    run(linerate(&format!("capture --mask -o {file}"))).assert_success();
    let masked = host(&format!("--root {file}"));
    assert_eq!(masked["inventory"]["host"], "host-1");
    assert_eq!(masked["inventory"]["cpus"], live["inventory"]["cpus"]);
}

#[test]
fn a_captured_board_is_a_table() {
    for name in ["nanopi-r4s", "server-numa"] {
        let finished = run(linerate(&format!("host --root {}", tree(name))));
        finished.assert_success();
        insta::assert_snapshot!(format!("host_{name}"), finished.stdout);
    }
}

#[test]
fn what_is_no_captured_host_is_refused() {
    let directory = Directory::new("host-refused");
    let folder = directory.path().display().to_string();
    run(linerate(&format!("host --root {folder}")))
        .assert_refusal(1, &["cannot read", "no unpacked archive"]);
    run(linerate(&format!("host --root {folder}/absent.tar")))
        .assert_refusal(1, &["absent.tar: no such file"]);
    let file = directory.file("text");
    std::fs::write(&file, "no archive").expect("written");
    run(linerate(&format!("host --root {}", file.display())))
        .assert_refusal(1, &["no archive of linerate capture"]);
    run(linerate(&format!("capture -o {folder}/absent/file.tar")))
        .assert_refusal(1, &["cannot write", "choose another file"]);
}

#[test]
fn what_a_kernel_lacks_is_a_fragment_of_its_configuration() {
    let unknown = run(linerate(&format!("host --kernel-config --root {}", tree("nanopi-r4s"))));
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("modprobe configs"), "{unknown:?}");
    let board = tree("hifive-unleashed");
    let fragment = run(linerate(&format!("host --kernel-config --root {board}")));
    fragment.assert_success();
    fragment.assert_prints(&["# What Linux 5.2.9 lacks", "CONFIG_FUNCTION_TRACER=y"]);
    let diagnosis = run(linerate(&format!("diagnose --root {board}")));
    diagnosis.assert_success();
    diagnosis.assert_prints(&[
        "kernel options missing: ",
        "tracing 37",
        &format!("host --kernel-config --root {board}"),
    ]);
}
