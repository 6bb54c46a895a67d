#!/usr/bin/env bash
# Makes the Python environment that tests/it/python.rs and readme.rs use, outside of the checkout. Without it those tests are skipped.
set -euo pipefail
at=${1:-$HOME/.cache/addfg/python}
packages="duckdb pandas pyarrow networkx matplotlib nbclient ipykernel pyspark==4.0.1 mkdocs==1.6.1"
if [ "$(cat "$at/packages" 2>/dev/null)" != "$packages" ]; then
    python3 -m venv "$at"
    # shellcheck disable=SC2086
    "$at/bin/python" -m pip install --quiet --disable-pip-version-check $packages
    echo "$packages" >"$at/packages"
fi
# Releases of DuckDB that load the extension (tests/it/extension.rs), beside that of the environment.
for release in 1.3.2 1.4.5 1.5.6 2.0.0; do
    [ -e "$at/duckdb/$release" ] || "$at/bin/python" -m pip install --quiet --disable-pip-version-check --target "$at/duckdb/$release" "duckdb==$release"
done
