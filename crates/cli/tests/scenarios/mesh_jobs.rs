//! Meshes as jobs: the manifest for Kubernetes, and its agents, started as the Job would.

use std::net::TcpStream;
use std::process::Command;

use serde_json::Value;

use crate::shared::{Directory, Running, linerate, run, skip, until};

/// Parses YAML of several documents, by PyYAML.
fn documents(text: &str) -> Option<Vec<Value>> {
    let directory = Directory::new("mesh-yaml");
    let file = directory.file("mesh.yaml");
    std::fs::write(&file, text).expect("a file");
    let program = "import json, sys, yaml\n\
        print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let output = Command::new("python3").args(["-c", program]).arg(&file).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return skip("no python3 with yaml");
    };
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn manifest(options: &str) -> Option<[Value; 2]> {
    let finished = run(linerate(&format!("mesh {options}")));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    Some(documents(&finished.stdout)?.try_into().expect("a service and a job"))
}

#[test]
fn the_manifest_for_kubernetes_has_the_fields_of_its_schema() {
    let options = "--kubernetes registry.example/linerate:0.1 --nodes 8 -t 3s --expect 10G --json";
    let Some([service, job]) = manifest(options) else { return };
    assert_eq!((&service["apiVersion"], &service["kind"]), (&"v1".into(), &"Service".into()));
    assert_eq!(service["spec"]["clusterIP"], "None");
    assert_eq!(service["spec"]["publishNotReadyAddresses"], true);
    assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
    let spec = &job["spec"];
    assert_eq!(spec["completionMode"], "Indexed");
    assert_eq!((spec["completions"].as_u64(), spec["parallelism"].as_u64()), (Some(8), Some(8)));
    assert_eq!(spec["backoffLimit"].as_u64(), Some(0));
    let (labels, pod) = (&spec["template"]["metadata"]["labels"], &spec["template"]["spec"]);
    assert_eq!(&service["spec"]["selector"], labels);
    assert_eq!(pod["subdomain"], service["metadata"]["name"]);
    assert_eq!(pod["restartPolicy"], "Never");
    assert_eq!((&pod["hostNetwork"], &pod["dnsPolicy"]), (&false.into(), &"ClusterFirst".into()));
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_ne!(pod["securityContext"]["runAsUser"].as_u64(), Some(0));
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "registry.example/linerate:0.1");
    let context = &container["securityContext"];
    assert_eq!(context["allowPrivilegeEscalation"], false);
    assert_eq!(context["capabilities"]["drop"], serde_json::json!(["ALL"]));
    assert!(context["readOnlyRootFilesystem"].as_bool() == Some(true));
    for kind in ["requests", "limits"] {
        assert!(container["resources"][kind]["cpu"].is_string(), "{container:#}");
        assert!(container["resources"][kind]["memory"].is_string(), "{container:#}");
    }
    let key = &container["env"][0];
    assert_eq!(key["name"], "LINERATE_MESH_KEY");
    let by_reference = serde_json::json!({"name": "linerate-mesh", "key": "key"});
    assert_eq!(key["valueFrom"]["secretKeyRef"], by_reference);
    let args = container["args"].as_array().expect("arguments").iter();
    let args: Vec<_> = args.map(|word| word.as_str().expect("a string")).collect();
    let job_name = job["metadata"]["name"].as_str().expect("a name");
    let service_name = service["metadata"]["name"].as_str().expect("a name");
    let at = format!("{job_name}-0.{service_name}:5200");
    let expected = ["mesh", "--join", &at, "--nodes", "8", "-t", "3s", "--expect", "10G", "--json"];
    assert_eq!(args, expected);
    let Some([_, job]) = manifest("--kubernetes --nodes 2 --host-network --secret other") else {
        return;
    };
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true);
    assert_eq!(pod["dnsPolicy"], "ClusterFirstWithHostNet");
    let key = &pod["containers"][0]["env"][0]["valueFrom"]["secretKeyRef"];
    assert_eq!(key["name"], "other");
}

/// A process of the job, as Kubernetes starts it: with the arguments of the manifest but for the
/// address, since there is no DNS of a cluster.
fn pod(number: usize, of: usize, port: u16, key: &str) -> Running {
    let at = format!("localhost:{port}");
    let mut command =
        linerate(&format!("mesh --join {at} --nodes {of} -t 500ms --json --expect 1M --quiet"));
    command.env("JOB_COMPLETION_INDEX", number.to_string());
    command.env("LINERATE_MESH_KEY", key).env("NODE_NAME", format!("worker{number}"));
    Running::start(command)
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn processes_of_an_indexed_job_find_each_other_and_test_all_pairs() {
    let (port, key) = (free_port(), "5a".repeat(32));
    // The coordinator comes last but one, as it may in a cluster; a process with another key, which
    // claims a number of the mesh, is never a member.
    let stranger = pod(2, 3, port, &"6b".repeat(32));
    let others = [pod(1, 3, port, &key)];
    let first = pod(0, 3, port, &key);
    let last = pod(2, 3, port, &key);
    let finished = first.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["hosts"], serde_json::json!(["worker0", "worker1", "worker2"]));
    assert_eq!(record["rates"].as_array().map(Vec::len), Some(6), "{record:#}");
    for other in others.into_iter().chain([last]) {
        let finished = other.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    stranger.signal("KILL");
}

#[test]
fn what_is_no_job_is_refused_in_a_sentence() {
    let refused = |options: &str, words: &str| {
        let mut command = linerate(&format!("mesh {options}"));
        command.env_remove("JOB_COMPLETION_INDEX").env_remove("LINERATE_MESH_KEY");
        let finished = run(command);
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(words), "{finished:?}");
    };
    refused("--kubernetes", "--nodes");
    refused("--kubernetes a;b --nodes 2", "a;b is no image");
    refused("--kubernetes --nodes 2 --secret A_B", "A_B is no name of a Secret");
    refused("--join localhost:1 --nodes 2", "JOB_COMPLETION_INDEX is no number below 2");
}

#[test]
fn connections_that_prove_nothing_keep_no_member_out() {
    let (port, key) = (free_port(), "5a".repeat(32));
    let first = pod(0, 2, port, &key);
    let connect = || TcpStream::connect(("127.0.0.1", port));
    let one = until("the first process", || connect().ok());
    // At ten seconds for each proof, and a few at a time, a member would come in after a minute.
    let idle: Vec<_> = (0..199).map(|_| connect().expect("it listens")).collect();
    let member = pod(1, 2, port, &key);
    for process in [first, member] {
        let finished = process.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
    }
    drop((one, idle));
}
