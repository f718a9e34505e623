#!/bin/sh
# Programs that some tests ask for an answer, as Debian packages: installed where that is allowed, named where not.
# Without them those tests are skipped, with the reason, and counted.
PATH="$PATH:/usr/sbin:/sbin:/usr/local/go/bin"
missing=
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need tcpdump tcpdump
need tshark tshark
need zstd zstd
need ip iproute2
need ovs-vswitchd openvswitch-switch
need tc iproute2
need nft nftables
need ethtool ethtool
need iperf3 iperf3
need openssl openssl
need eu-stack elfutils
need unshare util-linux
need systemd-analyze systemd
need lldpd lldpd
need vtysh frr
need gobgpd gobgpd
need chromium chromium
need pkg-config pkg-config
need go golang-go
need qemu-arm qemu-user
# The core library of a processor without an operating system, for which tests build picks.
bare=thumbv7em-none-eabihf
if command -v rustup >/dev/null 2>&1 && ! rustup target list --installed | grep -q "^$bare$"; then
    rustup target add "$bare" >/dev/null 2>&1 || echo "tests that build for $bare are skipped: rustup target add $bare"
fi
# DPDK's libraries, in whose pipeline P4 entries run; packages have the number of the ABI, which is each Debian's own.
for library in pipeline mempool-ring; do
    ldconfig -p | grep -q "librte_$(echo $library | tr - _)\.so" || missing="$missing ^librte-$library-?[0-9]+$"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Debian packages that tests use:$missing"
    export DEBIAN_FRONTEND=noninteractive
    # No package starts its daemon here: tests start those that they need, each in a world of its own (invoke-rc.d(8)).
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
    fi
    # shellcheck disable=SC2086 # a list of words
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null 2>&1 && exit 0
    echo "that failed; tests that need them are skipped"
else
    echo "some tests are skipped here; for all of them: sudo apt-get install$missing"
fi
