# linerate for OpenEmbedded, of the static file that the release has for the machine: neither Rust
# nor a C library is needed. docs/install.md says how to build it.

SUMMARY = "Measures a network path and names what limits it"
DESCRIPTION = "linerate measures TCP and UDP in both directions against another linerate or any \
iperf3, and names what limits each result and what to change."
SECTION = "console/network"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "\
    file://LICENSE-MIT;md5=b663f0d42fce02aea67c217c90083cbb \
    file://LICENSE-APACHE;md5=22a53954e4e0ec258dfce4391e905dac \
"

# The names of machines that both have in common, and the one that they have not.
LINERATE_ARCH = "${TARGET_ARCH}"
LINERATE_ARCH:arm = "armv7"
COMPATIBLE_HOST = "(aarch64|arm|riscv64|x86_64).*-linux.*"

# In a folder files/ beside this file.
SRC_URI = "file://linerate-${PV}-${LINERATE_ARCH}-linux.tar.gz"
S = "${@d.getVar('UNPACKDIR') or d.getVar('WORKDIR')}/linerate-${PV}-${LINERATE_ARCH}-linux"

inherit bash-completion systemd useradd

SYSTEMD_SERVICE:${PN} = "linerate.service"
SYSTEMD_AUTO_ENABLE:${PN} = "disable"
USERADD_PACKAGES = "${PN}"
USERADD_PARAM:${PN} = "--system --user-group --no-create-home --shell /sbin/nologin linerate"

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    install -D -m 0755 linerate ${D}${bindir}/linerate
    install -D -m 0644 completions/linerate.bash \
        ${D}${datadir}/bash-completion/completions/linerate
    install -d ${D}${mandir}/man1
    install -m 0644 man/*.1 ${D}${mandir}/man1
    install -d ${D}${systemd_system_unitdir}
    sed 's,/usr/local/bin/,${bindir}/,' linerate.service \
        > ${D}${systemd_system_unitdir}/linerate.service
}

# It was stripped, and linked without the flags of this distribution.
INSANE_SKIP:${PN} += "already-stripped ldflags"
INHIBIT_PACKAGE_STRIP = "1"
INHIBIT_SYSROOT_STRIP = "1"
