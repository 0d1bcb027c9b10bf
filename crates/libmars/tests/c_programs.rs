//! Programs in C, compiled with each compiler that is installed, against the headers and the library
//! as they are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program, what it is linked with, and its arguments.
struct Program {
    name: &'static str,
    arguments: &'static [&'static str],
}

const fn program(name: &'static str) -> Program {
    Program { name, arguments: &[] }
}

const COMPILERS: [&str; 2] = ["gcc", "clang"];

#[test]
fn headers_have_the_layouts_of_mars() {
    run(&program("layouts"));
}

#[test]
fn a_task_waits_for_an_event_flag_and_ends() {
    run(&program("waits"));
}

#[test]
fn tasks_add_up_to_the_exact_total() {
    run(&Program { name: "adds", arguments: &["1000", "20"] });
}

/// Compiles a program with each compiler, links it with each library, and runs it.
fn run(program: &Program) {
    let compilers: Vec<_> = COMPILERS.into_iter().filter(|name| is_installed(name)).collect();
    assert!(!compilers.is_empty(), "no C compiler is installed");
    for compiler in compilers {
        for library in [Library::Static, Library::Shared] {
            let file = compile(program.name, compiler, library);
            let output = Command::new(&file).args(program.arguments).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stdout);
            let is_passed = output.status.success() && said.contains("PASS: ");
            assert!(is_passed, "{}: {}", file.display(), text(&output));
        }
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
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (sources, include) = (crate_folder.join("tests/programs"), crate_folder.join("include"));
    let built = built();
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{compiler}-{library:?}"));
    let flags = ["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"];
    let mut linked = Vec::new();
    // The source of a task that is its own program: `get` and `put` are there, and its main
    // function has the name by which the program is registered.
    let task = sources.join(format!("{name}_task.c"));
    if task.exists() {
        let object = to.with_extension("o");
        let mut command = Command::new(compiler);
        command.args(flags).arg("-I").arg(include.join("mars-task")).arg("-I").arg(&include);
        command.arg(format!("-Dmars_task_main={name}_main")).arg("-c").arg(&task);
        succeed(command.arg("-o").arg(&object));
        linked.push(object);
    }
    let mut command = Command::new(compiler);
    command.args(flags).arg("-I").arg(&include).arg(sources.join(format!("{name}.c"))).args(linked);
    match library {
        Library::Static => command.arg(built.join("libmars.a")).args(["-ldl", "-lm"]),
        Library::Shared => {
            command.arg("-L").arg(&built).arg("-lmars");
            command.arg(format!("-Wl,-rpath,{}", built.display()))
        }
    };
    succeed(command.arg("-o").arg(&to));
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
