#!/bin/sh
# Makes a site with search of the pages in docs/ (mkdocs.yml): site.sh FOLDER. Dead links end it with 1.
set -eu
cd "$(dirname "$0")/.."
into=${1:?usage: site.sh FOLDER}
.ci/python.sh
exec "$HOME/.cache/addfg/python/bin/python" -m mkdocs build --strict -q -d "$(realpath -m "$into")"
