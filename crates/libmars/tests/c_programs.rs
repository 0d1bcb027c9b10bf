//! Programs in C, compiled with each compiler that is installed, against the headers and the library
//! as they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FLAGS: [&str; 6] = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];
const COMPILERS: [(&str, Library); 2] = [("gcc", Library::Static), ("clang", Library::Shared)];

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
    let (compiler, library) = COMPILERS[0];
    let program = link("readme", compiler, library, &source, None);
    let output = Command::new(program).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.starts_with("hello from MPU "), "{}", text(&output));
}

/// Compiles a program with each compiler, links it with a library, and runs it.
fn run(program: &str) {
    let compilers: Vec<_> = COMPILERS.iter().filter(|(name, _)| is_installed(name)).collect();
    assert!(!compilers.is_empty(), "no C compiler is installed");
    for (compiler, library) in compilers {
        let file = compile(program, compiler, *library);
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
fn compile(name: &str, compiler: &str, library: Library) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = folder.join("programs");
    // The source of a task that is its own program: `get` and `put` are there, and its main
    // function has the name by which the program is registered.
    let task = sources.join(format!("{name}_task.c"));
    let object = task.exists().then(|| {
        let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{compiler}.o"));
        let include = folder.join("include");
        let mut command = Command::new(compiler);
        command.args(FLAGS).arg("-I").arg(include.join("mars-task")).arg("-I").arg(&include);
        command.arg(format!("-Dmars_task_main={name}_main")).arg("-c").arg(&task);
        succeed(command.arg("-o").arg(&object));
        object
    });
    link(name, compiler, library, &sources.join(format!("{name}.c")), object)
}

fn link(
    name: &str,
    compiler: &str,
    library: Library,
    source: &Path,
    object: Option<PathBuf>,
) -> PathBuf {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{compiler}"));
    let mut command = Command::new(compiler);
    command.args(FLAGS).arg("-I").arg(&include).arg(source).args(object);
    match library {
        Library::Static => command.arg(built().join("libmars.a")).arg("-ldl"),
        Library::Shared => command.arg("-L").arg(built()).arg("-lmars"),
    };
    succeed(command.arg("-lm").arg("-o").arg(&to));
    to
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
