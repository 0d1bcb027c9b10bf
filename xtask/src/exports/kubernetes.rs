//! The Job that `linerate mesh --kubernetes` prints, against the published schema of Kubernetes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::command;

/// Checks the manifest for pods and for the network of the nodes, and that the check can fail.
/// `environment` has kubernetes-validate.
pub(super) fn check(linerate: &Path, environment: &Path, folder: &Path) -> Result<()> {
    let file = folder.join("mesh.yaml");
    let is_valid = || -> Result<bool> {
        let mut validate = Command::new(environment.join("bin/kubernetes-validate"));
        validate.args(["--quiet", "--strict", "--kubernetes-version", RELEASE]).arg(&file);
        Ok(validate.status()?.success())
    };
    for network in ["", "--host-network"] {
        let mut print = Command::new(linerate);
        print.args(["mesh", "--kubernetes", "registry.example/linerate", "--nodes", "8"]);
        print.args(network.split_whitespace());
        let manifest = command::output(&mut print)?;
        fs::write(&file, &manifest)?;
        ensure!(is_valid()?, "the manifest {network} is not of Kubernetes {RELEASE}");
        fs::write(&file, manifest.replace("completionMode", "completionModes"))?;
        ensure!(!is_valid()?, "kubernetes-validate takes a field that there is not");
    }
    Ok(())
}

/// The schemas of this release come with kubernetes-validate.
const RELEASE: &str = "1.37";
