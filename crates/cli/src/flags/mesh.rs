//! Flags of `mesh`.

use std::path::PathBuf;
use std::time::Duration;

use campaign::mesh::Via;
use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::BitRate;

use super::format::FormatFlags;
use super::ladder::parse_time;
use super::mesh_job::MeshJobFlags;
use super::mesh_ssh::MeshSshFlags;
use super::values::{parse_streams, parse_tag};

/// Tests all pairs of many hosts in rounds, each host in one test at a time, and names the host, link
/// or switch that is slow. It starts a linerate on each host, by ssh, by a command, or by Slurm.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MeshFlags {
    /// File of the hosts: a line `NAME [ADDRESS[,ADDRESS...]]` for each; of several addresses the links
    /// are tested at once
    #[arg(long, env = "LINERATE_HOSTS", value_name = "FILE", required_unless_present_any = ["slurm", "kubernetes", "join"])]
    pub(crate) hosts: Option<PathBuf>,
    /// Command that runs a program on a host, in place of ssh, e.g. 'ip netns exec {host}'
    #[arg(long, env = "LINERATE_VIA", value_name = "COMMAND", value_parser = Via::parse)]
    pub(crate) via: Option<Via>,
    /// Hosts of this allocation of Slurm, by srun. Outside of one, with --nodes: submit a job
    #[arg(long, conflicts_with_all = ["via", "hosts"], value_parser = BoolishValueParser::new())]
    pub(crate) slurm: bool,
    /// linerate on the hosts [default: with ssh the one in their PATH, else this file]
    #[arg(long, env = "LINERATE_PROGRAM", value_name = "FILE")]
    pub(crate) program: Option<String>,
    /// Switches: a line CHILD PARENT for each host and each switch. No two tests of a round then
    /// share an uplink
    #[arg(long, env = "LINERATE_TOPOLOGY", value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    /// Time of each direction of a pair
    #[arg(short, long, default_value = "2s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_time)]
    pub(crate) time: Duration,
    /// Parallel TCP streams of a test
    #[arg(short = 'P', long, default_value_t = 1, env = "LINERATE_STREAMS", value_name = "COUNT", value_parser = parse_streams)]
    pub(crate) streams: u32,
    /// Random rounds in place of all pairs [default: 4 for more than 64 hosts]
    #[arg(long, value_name = "ROUNDS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) sample: Option<u32>,
    /// Exit with 4 if a pair delivers less in a direction, e.g. 10G, or has no result
    #[arg(long, env = "LINERATE_EXPECT", value_name = "RATE")]
    pub(crate) expect: Option<BitRate>,
    #[command(flatten)]
    pub(crate) ssh: MeshSshFlags,
    #[command(flatten)]
    pub(crate) job: MeshJobFlags,
    #[command(flatten)]
    pub(crate) output: MeshOutputFlags,
}

/// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct MeshOutputFlags {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Store each pair as a line of JSON in a file when its test has ended
    #[arg(short, long, env = "LINERATE_OUTPUT", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Go on with the mesh in that file: test only pairs that are not in it
    #[arg(long, requires = "output", value_parser = BoolishValueParser::new())]
    pub(crate) resume: bool,
    /// Write a page with the rates of all pairs, too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Label for the record; may be given several times
    #[arg(long, env = "LINERATE_TAG", value_name = "KEY=VALUE", value_parser = parse_tag)]
    pub(crate) tag: Vec<(String, String)>,
    /// No progress
    #[arg(short, long, env = "LINERATE_QUIET", value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  linerate mesh --hosts hosts.txt                        by ssh, linerate is in their PATH
  linerate mesh --hosts hosts.txt --push                 copied to hosts that have none
  linerate mesh --hosts hosts.txt --topology racks.txt   no two tests over one uplink
  linerate mesh --hosts hosts.txt --via 'ip netns exec {host}' -t 1s
  linerate mesh --hosts hosts.txt -o mesh.jsonl --resume only what is missing in the file
  linerate mesh --slurm --nodes 8 --expect 10G           a job of Slurm, by sbatch
  salloc -N8 linerate mesh --slurm --expect 10G          exit code 4 if a pair has less
  linerate mesh --kubernetes --nodes 8 > mesh.yaml       a Job, for kubectl apply -f mesh.yaml

A pair is tested in both directions, TCP, one after the other. Up to 64 hosts all pairs are tested,
of more a random sample; suspects are then tested again, alone.
Exit codes: 0 done; 1 failed; 2 usage; 4 a pair has less than --expect, or a host is lost;
130 interrupted, with the pairs that were tested";
