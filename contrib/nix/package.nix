# linerate for Nix, built from the clone that this file is in:
#   nix-build -E 'with import <nixpkgs> { }; callPackage ./contrib/nix/package.nix { }'
{
  lib,
  rustPlatform,
  installShellFiles,
}:

let
  workspace = (lib.importTOML ../../Cargo.toml).workspace.package;
in
rustPlatform.buildRustPackage {
  pname = "linerate";
  inherit (workspace) version;

  # What git has, and not what was built.
  src = lib.fileset.toSource {
    root = ../..;
    fileset = lib.fileset.gitTracked ../..;
  };
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [
    "--package"
    "linerate"
  ];

  nativeBuildInputs = [
    installShellFiles
  ];

  # The tests want namespaces and programs to compare with, which a builder has not.
  doCheck = false;

  postInstall = ''
    for shell in bash fish zsh; do
      installShellCompletion --cmd linerate --$shell <($out/bin/linerate completions $shell)
    done
    $out/bin/linerate man > linerate.1
    installManPage linerate.1
  '';

  meta = {
    description = "Measures a network path and names what limits it";
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "linerate";
    platforms = lib.platforms.linux;
  };
}
