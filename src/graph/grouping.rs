//! Functions put together: by source file, by image, by the groups that a person names.

use super::level::Level;
use super::model::{Node, NodeId, NodeKind};
use super::rows::{LevelRows, add};
use super::selection::Selection;
use std::collections::BTreeMap;

/// The last part of a path.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn file_of(node: &Node) -> Option<String> {
    match (&node.file, &node.image) {
        _ if node.kind == NodeKind::Pseudo => None,
        (Some(file), _) => Some(file.clone()),
        (None, Some(image)) => Some(format!("(no source file) {}", base(image))),
        (None, None) => Some("(no source file)".into()),
    }
}

fn image_of(node: &Node) -> Option<String> {
    let image = || node.image.clone().unwrap_or_else(|| "(no image)".into());
    (node.kind != NodeKind::Pseudo).then(image)
}

/// Puts together what the selection asks for.
pub fn apply(rows: &mut LevelRows, selection: &Selection) {
    match selection.level {
        Level::File => group(rows, NodeKind::File, file_of),
        Level::Image => group(rows, NodeKind::Image, image_of),
        Level::Function if !selection.groups.is_empty() => {
            let mut names = BTreeMap::new();
            for (name, ids) in &selection.groups {
                names.extend(ids.iter().map(|&id| (NodeId::Function(id), name)));
            }
            group(rows, NodeKind::Group, |n| names.get(&n.id).map(|&name| name.clone()));
        }
        _ => {}
    }
}

/// Nodes that a group of the selection will stand for, and what stands for them: its first node.
pub fn first_of_group(rows: &LevelRows, selection: &Selection) -> BTreeMap<NodeId, NodeId> {
    let mut to: BTreeMap<NodeId, NodeId> = rows.nodes.keys().map(|&id| (id, id)).collect();
    for (_, ids) in &selection.groups {
        let known =
            ids.iter().map(|&id| NodeId::Function(id)).filter(|id| rows.nodes.contains_key(id));
        if let Some(first) = known.clone().min() {
            to.extend(known.map(|id| (id, first)));
        }
    }
    to
}

/// Groups nodes under the name that `name` gives; what it gives no name stays.
fn group(rows: &mut LevelRows, kind: NodeKind, name: impl Fn(&Node) -> Option<String>) {
    let mut first: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut to: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut groups: BTreeMap<NodeId, Node> = BTreeMap::new();
    for (id, node) in std::mem::take(&mut rows.nodes) {
        let Some(label) = name(&node) else {
            groups.insert(id, node);
            continue;
        };
        let at = *first.entry(label.clone()).or_insert(id);
        to.insert(id, at);
        match groups.get_mut(&at) {
            Some(g) => {
                g.calls += node.calls;
                g.steps_self = add(g.steps_self, node.steps_self);
                g.members += 1;
            }
            None => {
                let file = if kind == NodeKind::File { node.image.clone() } else { None };
                groups.insert(at, Node { name: label, kind, file, steps_total: None, ..node });
            }
        }
    }
    rows.nodes = groups;
    rows.rename(|id| to.get(&id).copied().unwrap_or(id));
}
