//! `linerate report`: what goes into the page, and what it refuses.

use std::fs;

use crate::support::{Directory, Server, linerate, run, test};

#[test]
fn a_page_has_the_tests_and_what_was_typed_as_text() {
    let directory = Directory::new("report");
    let (record, page) = (directory.file("a.json"), directory.file("a.html"));
    let server = Server::start();
    test(&server, &format!("--udp --send -b 20M -t 500ms -o {}", record.display()))
        .assert_ran_to_its_end();
    let title = "--title=</script><b>";
    let words = format!("report {0} --before {0} -o {1} {title}", record.display(), page.display());
    run(linerate(&words)).assert_success();
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for part in
        ["\"UDP send\"", "\\u003c/script\\u003e\\u003cb\\u003e", "\"comparison\"", "-b 20000000"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn what_is_no_record_is_one_sentence() {
    let directory = Directory::new("report-refusals");
    let (text, page) = (directory.file("a.txt"), directory.file("a.html"));
    fs::write(&text, "no test is here\n").expect("a file");
    let report = |words: &str| run(linerate(&format!("report {words} -o {}", page.display())));
    report(&text.display().to_string()).assert_complaint(1, &["a.txt"]);
    report("missing.json").assert_complaint(1, &["there is no file missing.json"]);
    run(linerate(&format!("report {} -o /nowhere/a.html", text.display())))
        .assert_complaint(2, &["cannot write /nowhere/a.html"]);
    run(linerate("report last")).assert_complaint(2, &["--output"]);
    assert!(!page.exists());
}
