# linerate for Homebrew on Linux, built from the clone that this file is in:
#   brew tap-new local/linerate
#   cp contrib/homebrew/linerate.rb "$(brew --repository local/linerate)/Formula/"
#   HOMEBREW_LINERATE_CLONE="$PWD" brew install --HEAD local/linerate/linerate
class Linerate < Formula
  clone = ENV.fetch("HOMEBREW_LINERATE_CLONE", Dir.pwd)
  desc "Measures a network path and names what limits it"
  homepage "file://#{clone}/README.md"
  license any_of: ["MIT", "Apache-2.0"]
  head "file://#{clone}", using: :git

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"linerate", "completions")
    (buildpath/"linerate.1").write Utils.safe_popen_read(bin/"linerate", "man")
    man1.install "linerate.1"
  end

  service do
    run [opt_bin/"linerate", "serve"]
  end

  test do
    port = free_port
    server = spawn bin/"linerate", "serve", "--bind", "127.0.0.1", "--port", port.to_s
    sleep 1
    system bin/"linerate", "test", "127.0.0.1:#{port}", "--tcp", "-n", "1M"
  ensure
    Process.kill "TERM", server
    Process.wait server
  end
end
