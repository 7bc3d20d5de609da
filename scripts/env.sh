# Sourced by the other scripts: one target folder for every checkout, outside
# of them, and a quiet software Vulkan.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/terrane/target}"
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
