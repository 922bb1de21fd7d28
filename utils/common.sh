# What utils/try and utils/check share: packages, configuring, building.
# Sourced, not run. Expects `root` to be the checkout.

# Everything comes from Debian 12's own packages.
sluice_packages=(
  ca-certificates cmake ninja-build g++ ccache
  clang-22 lld-22 llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools
  libgtest-dev libgmock-dev libsimde-dev nlohmann-json3-dev libcli11-dev
  libpcre2-dev libutf8proc-dev libyaml-cpp-dev python3 python3-psutil
  libboost1.81-dev libssl-dev libxxhash-dev
  libopenmpi-dev openmpi-bin libmpich-dev mpich
)

# Clients that the server is tested with; the tests of those that are missing are
# skipped.
client_packages=(chromium-headless-shell curl openssl python3-venv)

say() { printf '== %s\n' "$*"; }

# install_packages PACKAGE...: installs those that are missing, as root or with
# sudo, after saying which.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed' || missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  say "installing from Debian's packages: ${missing[*]}"
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || {
      echo "error: not root and no sudo: install these packages first: ${missing[*]}" >&2
      return 1
    }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# configure_preset PRESET FOLDER [CMAKE OPTION...]: once per folder.
configure_preset() {
  local preset=$1 folder=$2
  shift 2
  [[ -f $folder/build.ninja ]] && return 0
  say "configuring $folder"
  cmake --preset "$preset" "$@" >"$folder.log" 2>&1 || {
    tail -n 30 "$folder.log" >&2
    return 1
  }
  rm -f "$folder.log"
}

# thin_progress: of ninja's output the progress of each minute, and all else.
thin_progress() {
  local line due=$SECONDS
  while IFS= read -r line; do
    if [[ ! $line =~ ^\[[0-9]+/[0-9]+\]\  ]]; then
      printf '%s\n' "$line"
    elif ((SECONDS >= due)); then
      printf '%s\n' "$line"
      due=$((SECONDS + 60))
    fi
  done
}

# build FOLDER [TARGET...]: on a terminal ninja shows how far it is.
build() {
  local folder=$1
  shift
  say "building ($folder/)"
  if [[ -t 1 ]]; then
    ninja -C "$folder" "$@"
  else
    ninja -C "$folder" "$@" 2>&1 | thin_progress
  fi
}

# install_openai FOLDER: OpenAI's package for Python, which Debian does not have,
# into an environment of its own. Where PyPI cannot be reached, its test is skipped.
install_openai() {
  local folder=$1
  [[ -x $folder/bin/python ]] && return 0
  say "installing the Python package openai ($folder/)"
  python3 -m venv "$folder.new" &&
    "$folder.new/bin/python" -m pip install --quiet --retries 1 \
      --disable-pip-version-check openai==3.54.0 &&
    mv "$folder.new" "$folder" || {
    echo "note: no package openai; its test will be skipped" >&2
    rm -rf "$folder.new"
  }
}
