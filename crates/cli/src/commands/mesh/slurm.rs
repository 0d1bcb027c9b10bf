//! A mesh as a job of Slurm: a batch script, submitted by sbatch(1). When a node fails the job is put
//! back in the queue, and goes on with its file.

use std::env;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, anyhow};
use campaign::mesh::quoted;

use super::{hosts, passed_on};
use crate::exit::UsageError;
use crate::flags::MeshFlags;
use crate::output;

/// Submits the job, and tells its number and its files.
pub(super) fn submit(flags: &MeshFlags) -> anyhow::Result<ExitCode> {
    if hosts::is_allocated() {
        let text = "this allocation of Slurm has its nodes: leave --nodes out";
        return Err(UsageError(text.to_owned()).into());
    }
    let program = env::current_exe().context("cannot find this program")?;
    let passed = passed_on::options(&["--nodes"], &["--slurm"]);
    let script = script(flags, &program.display().to_string(), &passed);
    let job = sbatch(&script)?;
    let pairs = flags.output.output.as_ref().map(|file| file.display().to_string());
    let pairs = pairs.unwrap_or_else(|| format!("linerate-mesh-{job}.jsonl"));
    output::print_table(|out| {
        writeln!(
            out,
            "job {job}: its result will be in linerate-mesh-{job}.out, its pairs in {pairs}"
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The number of the job.
fn sbatch(script: &str) -> anyhow::Result<String> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start sbatch, which is part of Slurm")?;
    if let Some(mut input) = child.stdin.take() {
        // What sbatch says of a script that it did not read tells more than a broken pipe.
        _ = input.write_all(script.as_bytes());
    }
    let output = child.wait_with_output().context("cannot read from sbatch")?;
    let (said, why) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Number, or number and cluster.
    match said.trim().split(';').next() {
        Some(job) if output.status.success() && !job.is_empty() => Ok(job.to_owned()),
        _ => Err(anyhow!("sbatch failed: {}", why.lines().next().unwrap_or("no reason given"))),
    }
}

fn script(flags: &MeshFlags, program: &str, passed: &[String]) -> String {
    let nodes = flags.job.nodes.unwrap_or_default();
    let fixed = [program, "mesh", "--slurm"].map(str::to_owned);
    let words: Vec<_> = fixed.into_iter().chain(passed.iter().cloned()).collect();
    let mut words = vec![quoted(&words)];
    if flags.output.output.is_none() {
        words.push("--output \"linerate-mesh-$SLURM_JOB_ID.jsonl\"".to_owned());
    }
    if !flags.output.resume {
        words.push("--resume".to_owned());
    }
    format!("{}exec {}\n", HEAD.replace("@NODES@", &nodes.to_string()), words.join(" "))
}

/// Whether Slurm has put this job back in the queue before, and perhaps given it other nodes.
pub(super) fn is_requeued() -> bool {
    env::var("SLURM_RESTART_COUNT")
        .is_ok_and(|count| count.parse().is_ok_and(|count: u32| count > 0))
}

/// The coordinator is the shell of the batch script, so that SIGTERM at the end of the time reaches
/// it; what it does not set is for `SBATCH_PARTITION` and its like (sbatch(1)).
const HEAD: &str = "\
#!/bin/sh
#SBATCH --job-name=linerate-mesh
#SBATCH --nodes=@NODES@
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --signal=B:TERM@30
#SBATCH --open-mode=append
#SBATCH --output=linerate-mesh-%j.out
";

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        flags: MeshFlags,
    }

    fn script_of(options: &str) -> String {
        let words = format!("mesh --slurm --nodes 8 {options}");
        let flags = Typed::parse_from(words.split_whitespace()).flags;
        let passed: Vec<_> = options.split_whitespace().map(str::to_owned).collect();
        script(&flags, "/opt/my tools/linerate", &passed)
    }

    #[test]
    fn a_job_goes_on_with_its_file() {
        let text = script_of("-t 3s --tag rack=it's");
        assert!(text.starts_with("#!/bin/sh\n#SBATCH ") && text.contains("--nodes=8\n"), "{text}");
        let last = text.lines().last().expect("a line");
        assert_eq!(
            last,
            r#"exec '/opt/my tools/linerate' 'mesh' '--slurm' '-t' '3s' '--tag' 'rack=it'\''s' --output "linerate-mesh-$SLURM_JOB_ID.jsonl" --resume"#
        );
        let text = script_of("-o rack.jsonl --resume");
        assert!(text.ends_with("'mesh' '--slurm' '-o' 'rack.jsonl' '--resume'\n"), "{text}");
    }
}
