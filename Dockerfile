# The command `anabranch` beside Open vSwitch and what labs need: `make wheel`, then `docker build -t anabranch .`
#
#   docker run --rm -v "$PWD":/work anabranch run scenario.toml
#   docker run --rm --privileged -v "$PWD":/work anabranch lab run lab.toml     a lab makes namespaces and devices
FROM debian:12-slim

# Debian keeps one version of a package in a release.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      ethtool iproute2 nftables openvswitch-switch python3 python3-venv tcpdump \
 && rm -rf /var/lib/apt/lists/*

COPY dist/*.whl /tmp/wheel/
RUN python3 -m venv /opt/anabranch \
 && /opt/anabranch/bin/pip install --no-cache-dir "$(echo /tmp/wheel/anabranch-*.whl)[switches]" \
 && rm -r /tmp/wheel

ENV PATH=/opt/anabranch/bin:$PATH
WORKDIR /work
ENTRYPOINT ["anabranch"]
