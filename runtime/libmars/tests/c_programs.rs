//! Programs in C, compiled with each compiler that is installed, against the headers and the library
//! as they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FLAGS: [&str; 6] = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];
const BUILDS: [Build; 3] = [
    Build { name: "gcc", compiler: "gcc", linkage: Library::Static, flags: &[] },
    Build { name: "clang", compiler: "clang", linkage: Library::Shared, flags: &[] },
    // Every access of the program, and every allocation of both, is checked.
    Build {
        name: "asan",
        compiler: "gcc",
        linkage: Library::Static,
        flags: &["-fsanitize=address"],
    },
];

/// With ThreadSanitizer, which is told of each switch to another stack.
const UNDER_TSAN: [Build; 1] = [Build {
    name: "tsan",
    compiler: "clang",
    linkage: Library::Static,
    // As the library: functions that another stack suspends do not end where they began.
    flags: &[
        "-fsanitize=thread",
        "-fno-sanitize-link-runtime",
        "-mllvm",
        "-tsan-instrument-func-entry-exit=0",
    ],
}];

/// A way to build a program.
#[derive(Clone, Copy, Debug)]
struct Build {
    name: &'static str,
    compiler: &'static str,
    linkage: Library,
    flags: &'static [&'static str],
}

#[test]
fn headers_have_the_layouts_of_mars() {
    run("layouts");
}

#[test]
fn a_task_waits_for_an_event_flag_and_ends() {
    run("waits");
}

#[test]
fn adds_of_many_tasks_are_exact() {
    run("adds");
}

#[test]
fn a_task_is_scheduled_a_thousand_times() {
    run("hello");
}

#[test]
fn more_tasks_than_mpus_meet_at_a_barrier() {
    run("barrier");
}

#[test]
fn a_semaphore_excludes() {
    run("semaphore");
}

#[test]
fn a_token_goes_round_by_event_flags() {
    run("ring");
}

#[test]
fn entries_pass_a_pipeline_of_queues() {
    run("pipeline");
}

#[test]
fn two_tasks_signal_each_other() {
    run("pingpong");
}

#[test]
fn a_call_of_the_host_holds_up_nobody() {
    run("hostcall");
}

#[test]
fn an_image_is_computed_tile_by_tile() {
    run("grayscale");
}

#[test]
fn uneven_rows_are_shared() {
    run("mandelbrot");
}

#[test]
fn stages_of_a_transform_are_ordered() {
    run("fft");
}

#[test]
fn a_context_is_filled() {
    run("fill");
}

#[test]
fn unscheduled_tasks_do_not_go_on() {
    run("unschedule");
}

#[test]
fn run_complete_tasks_cannot_wait() {
    run("mix");
}

#[test]
fn the_program_of_the_readme_says_hello() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("the file of the crate");
    let code = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next());
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme.c");
    std::fs::write(&source, code.expect("a program")).expect("a folder that can be written");
    let program = link("readme", BUILDS[0], &source, None);
    let output = Command::new(program).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.starts_with("hello from MPU "), "{}", text(&output));
}

/// AddressSanitizer sees what a task does on its own stack: else a clean run would say nothing.
#[cfg(not(tsan))]
#[test]
fn an_access_beyond_an_allocation_is_found_in_a_task() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beyond.c");
    std::fs::write(&source, BEYOND).expect("a folder that can be written");
    let program = link("beyond", BUILDS[2], &source, None);
    let output = Command::new(program).output().expect("it runs");
    let is_found = text(&output).contains("heap-buffer-overflow");
    assert!(!output.status.success() && is_found, "{}", text(&output));
}

#[cfg(not(tsan))]
const BEYOND: &str = r#"
#include <stdlib.h>
#include <mars/task.h>
#include <mars/task_image.h>

static int beyond_main(const struct mars_task_args *args)
{
	volatile char *bytes = malloc(8);

	bytes[args->type.u64[0]] = 1;
	return 0;
}
static MARS_TASK_IMAGE(beyond, beyond_main);

int main(void)
{
	struct mars_context *mars;
	struct mars_task_args args = { { { 8 } } };
	struct mars_task_id id;

	mars_context_create(&mars, 1, 0);
	mars_task_create(mars, &id, "", &beyond, MARS_TASK_CONTEXT_SAVE_SIZE_MAX);
	mars_task_schedule(&id, &args, 0);
	return mars_task_wait(&id, NULL);
}
"#;

/// Builds a program in each way, and runs it.
fn run(program: &str) {
    // The library is built for the sanitizer, or for none.
    let builds: &[Build] = if cfg!(tsan) { &UNDER_TSAN } else { &BUILDS };
    let builds: Vec<_> = builds.iter().filter(|build| is_installed(build.compiler)).collect();
    assert!(!builds.is_empty(), "no C compiler is installed");
    for build in builds {
        let file = compile(program, *build);
        // Cargo's own has the folder of an earlier build.
        let output = Command::new(&file).env("LD_LIBRARY_PATH", built()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let is_passed = output.status.success() && said.contains("PASS: ");
        assert!(is_passed, "{}: {}", file.display(), text(&output));
    }
}

fn is_installed(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[derive(Clone, Copy, Debug)]
enum Library {
    Static,
    Shared,
}

/// The path of the program.
fn compile(program: &str, build: Build) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = folder.join("programs");
    // The source of a task that is its own program: `get` and `put` are there, and its main
    // function has the name by which the program is registered.
    let task = sources.join(format!("{program}_task.c"));
    let object = task.exists().then(|| {
        let object =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{program}-{}.o", build.name));
        let include = folder.join("include");
        let mut command = Command::new(build.compiler);
        command.args(FLAGS).args(build.flags);
        command.arg("-I").arg(include.join("mars-task")).arg("-I").arg(&include);
        command.arg(format!("-Dmars_task_main={program}_main")).arg("-c").arg(&task);
        succeed(command.arg("-o").arg(&object));
        object
    });
    link(program, build, &sources.join(format!("{program}.c")), object)
}

fn link(program: &str, build: Build, source: &Path, object: Option<PathBuf>) -> PathBuf {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{program}-{}", build.name));
    let mut command = Command::new(build.compiler);
    command.args(FLAGS).args(build.flags).arg("-I").arg(&include).arg(source).args(object);
    match build.linkage {
        Library::Static => command.arg(built().join("libmars.a")).arg("-ldl"),
        Library::Shared => command.arg("-L").arg(built()).arg("-lmars"),
    };
    if cfg!(tsan) {
        command.arg(runtime_of_tsan());
    }
    succeed(command.arg("-lm").arg("-o").arg(&to));
    to
}

/// Argument of the linker for ThreadSanitizer's runtime of the Rust compiler: code of that compiler
/// calls functions that the runtimes of older C compilers lack.
fn runtime_of_tsan() -> String {
    let sysroot = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output();
    let sysroot = String::from_utf8(sysroot.expect("it runs").stdout).expect("a path");
    let folder = Path::new(sysroot.trim()).join("lib/rustlib/x86_64-unknown-linux-gnu/lib");
    let runtime = folder.join("librustc-nightly_rt.tsan.a");
    format!("-Wl,--whole-archive,{},--no-whole-archive,-lrt,--export-dynamic", runtime.display())
}

/// The folder with the libraries, which cargo has built for this test.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this test");
    let folder = this.ancestors().find(|folder| folder.join("libmars.a").exists());
    folder.expect("a folder with libmars.a").to_owned()
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("the compiler runs");
    assert!(output.status.success(), "{command:?}: {}", text(&output));
}

fn text(output: &Output) -> String {
    let (said, errors) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(said), String::from_utf8_lossy(errors))
}
