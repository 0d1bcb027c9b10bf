//! Flags of `mesh` for jobs that others start: Kubernetes and Slurm.

use clap::Args;
use clap::builder::BoolishValueParser;

/// Jobs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Jobs")]
pub(crate) struct MeshJobFlags {
    /// Print a Job for Kubernetes that runs the mesh in pods of this image, one on each node
    #[arg(long, value_name = "IMAGE", num_args = 0..=1, default_missing_value = "linerate", requires = "nodes", conflicts_with_all = ["via", "hosts", "slurm", "topology", "program", "output", "html"])]
    pub(crate) kubernetes: Option<String>,
    /// Nodes of the job
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// The pods use the network of their nodes
    #[arg(long, requires = "kubernetes", value_parser = BoolishValueParser::new())]
    pub(crate) host_network: bool,
    /// Secret with the key of the agents
    #[arg(long, requires = "kubernetes", value_name = "NAME", default_value = "linerate-mesh")]
    pub(crate) secret: String,
    /// One of --nodes processes, numbered by JOB_COMPLETION_INDEX: number 0 coordinates, and the
    /// others find it here. LINERATE_MESH_KEY has the key
    #[arg(long, hide = true, value_name = "HOST:PORT", requires = "nodes", conflicts_with_all = ["via", "hosts", "slurm"])]
    pub(crate) join: Option<String>,
}
