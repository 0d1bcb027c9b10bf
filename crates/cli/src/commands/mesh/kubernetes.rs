//! A mesh as a Job of Kubernetes: indexed, one pod on each node, found by a headless service. Pod 0
//! coordinates; its log has the result.

use std::process::ExitCode;

use super::passed_on;
use crate::exit::UsageError;
use crate::flags::MeshFlags;
use crate::output;

/// Prints the manifest.
pub(super) fn print(flags: &MeshFlags, image: &str) -> anyhow::Result<ExitCode> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@".contains(letter);
    if image.is_empty() || !image.chars().all(is_of_name) {
        return Err(UsageError(format!("{image} is no image, e.g. linerate:0.1.0")).into());
    }
    let secret = &flags.job.secret;
    let is_of_secret =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if secret.is_empty() || secret.starts_with('-') || !secret.chars().all(is_of_secret) {
        let text = format!("{secret} is no name of a Secret: small letters, digits and hyphens");
        return Err(UsageError(text).into());
    }
    let text = manifest(flags, image);
    output::print_table(|out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

fn manifest(flags: &MeshFlags, image: &str) -> String {
    let nodes = flags.job.nodes.unwrap_or_default();
    let (network, dns) = if flags.job.host_network {
        ("true", "ClusterFirstWithHostNet")
    } else {
        ("false", "ClusterFirst")
    };
    let fixed = ["mesh", "--join", AT, "--nodes"].map(str::to_owned);
    let passed = passed_on::options(&["--nodes", "--secret"], &["--kubernetes", "--host-network"]);
    let words = fixed.into_iter().chain([nodes.to_string()]).chain(passed);
    // A string of JSON is one of YAML.
    let words = words.map(|word| serde_json::Value::String(word).to_string());
    let filled = [
        ("NODES", nodes.to_string()),
        ("IMAGE", image.to_owned()),
        ("SECRET", flags.job.secret.clone()),
        ("NETWORK", network.to_owned()),
        ("DNS", dns.to_owned()),
        ("ARGS", words.collect::<Vec<_>>().join(", ")),
    ];
    filled
        .iter()
        .fold(TEMPLATE.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
}

/// Where pod 0 is: a pod of an indexed Job has the name of the Job and its number as host name.
const AT: &str = "linerate-mesh-0.linerate-mesh:5200";

const TEMPLATE: &str = "\
# Once: linerate key new mesh.key && kubectl create secret generic @SECRET@ --from-file=key=mesh.key
# Run: kubectl apply -f mesh.yaml
# Result: kubectl logs -f -l batch.kubernetes.io/job-completion-index=0,app=linerate-mesh
# Again: kubectl delete -f mesh.yaml
apiVersion: v1
kind: Service
metadata:
  name: linerate-mesh
  labels: {app: linerate-mesh}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app: linerate-mesh}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: linerate-mesh
  labels: {app: linerate-mesh}
spec:
  completionMode: Indexed
  completions: @NODES@
  parallelism: @NODES@
  backoffLimit: 0
  activeDeadlineSeconds: 86400
  template:
    metadata:
      labels: {app: linerate-mesh}
    spec:
      subdomain: linerate-mesh
      restartPolicy: Never
      hostNetwork: @NETWORK@
      dnsPolicy: @DNS@
      automountServiceAccountToken: false
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels: {app: linerate-mesh}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: linerate
        image: \"@IMAGE@\"
        args: [@ARGS@]
        env:
        - name: LINERATE_MESH_KEY
          valueFrom:
            secretKeyRef: {name: \"@SECRET@\", key: key}
        - name: NODE_NAME
          valueFrom:
            fieldRef: {fieldPath: spec.nodeName}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
        resources:
          requests: {cpu: \"1\", memory: 128Mi}
          limits: {cpu: \"4\", memory: 512Mi}
";
