#!/bin/sh
# Looks at a report page with axe-core: all views, both themes; ends with 1 where a finding is serious. Packages go into ADDFG_NODE, or a
# folder of the cache; --install only fetches them.
# usage: axe.sh PAGE.html | --install
set -eu
here=$(cd "$(dirname "$0")" && pwd)
page=${1:?usage: axe.sh PAGE.html | --install}
packages=${ADDFG_NODE:-$HOME/.cache/addfg/node}
if [ ! -d "$packages/node_modules/axe-core" ] || [ ! -d "$packages/node_modules/puppeteer-core" ]; then
    mkdir -p "$packages"
    (cd "$packages" && npm init -y >/dev/null && npm install --silent puppeteer-core axe-core)
fi
[ "$page" != --install ] || exit 0
NODE_PATH=$packages/node_modules exec node "$here/axe.js" "$(realpath "$page")"
