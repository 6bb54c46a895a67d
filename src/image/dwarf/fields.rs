//! Parts of structures, as far as they are no structures themselves.

use super::{MAX_DEPTH, MAX_SPELLING, R, Types};
use crate::image::Field;
use gimli::{AttributeValue, Operation, UnitOffset, constants as dw};

/// Parts of a variable at most: one with more has none.
const MOST: usize = 4096;

impl Types<'_> {
    /// These parts, while there is room for those of all variables.
    pub(super) fn paid(&self, fields: Vec<Field>) -> Vec<Field> {
        let left = self.parts.get().checked_sub(fields.len());
        self.parts.set(left.unwrap_or(0));
        if left.is_some() { fields } else { Vec::new() }
    }

    /// Parts of a structure, or of an element of an array of them; none of any other type.
    pub(super) fn fields(&self, unit: usize, offset: UnitOffset) -> Vec<Field> {
        let mut fields = Vec::new();
        let Some((unit, offset, is_array)) = self.element(unit, offset) else { return fields };
        let prefix = if is_array { "[]." } else { "" };
        match self.members((unit, offset), (0, prefix), MAX_DEPTH, &mut fields) {
            Some(()) => joined(fields),
            None => Vec::new(),
        }
    }

    /// The innermost element of an array, else the type itself, and whether it is one's element.
    fn element(&self, unit: usize, offset: UnitOffset) -> Option<(usize, UnitOffset, bool)> {
        let (mut unit, mut offset, mut die) = self.plain(unit, offset)?;
        let mut is_array = false;
        for _ in 0..MAX_DEPTH {
            if die.tag() != dw::DW_TAG_array_type {
                return Some((unit, offset, is_array));
            }
            is_array = true;
            let (element_unit, element) = self.refers(unit, &die, dw::DW_AT_type)?;
            (unit, offset, die) = self.plain(element_unit, element)?;
        }
        None
    }

    /// Adds the parts of a structure that begins so many bytes behind the whole. None if there are
    /// too many, or what is said of them makes no sense.
    fn members(
        &self,
        (unit, offset): (usize, UnitOffset),
        (start, prefix): (u64, &str),
        depth: u32,
        fields: &mut Vec<Field>,
    ) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let home = &self.units[unit].1;
        let mut tree = home.header.entries_tree(&home.abbreviations, Some(offset)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            self.burn()?;
            let die = child.entry();
            let is_part = matches!(die.tag(), dw::DW_TAG_member | dw::DW_TAG_inheritance);
            // A static member is a variable of its own.
            if !is_part || die.has_attr(dw::DW_AT_external) || die.has_attr(dw::DW_AT_declaration) {
                continue;
            }
            let (type_unit, type_offset) = self.refers(unit, die, dw::DW_AT_type)?;
            let first_bit = self.number(die, dw::DW_AT_data_bit_offset);
            let at = match die.attr_value(dw::DW_AT_data_member_location) {
                None => first_bit.map_or(0, |bit| bit / 8),
                // A virtual base lies where the object itself says.
                Some(location) => match self.constant_offset(unit, location) {
                    Some(at) => at,
                    None => continue,
                },
            };
            let at = start.checked_add(at)?;
            let name = self.text(unit, die, dw::DW_AT_name);
            let name = name.map_or_else(|| prefix.to_owned(), |name| format!("{prefix}{name}"));
            let mut size = self.size(type_unit, type_offset, MAX_DEPTH)?;
            if let (Some(bit), Some(bits)) = (first_bit, self.number(die, dw::DW_AT_bit_size)) {
                size = (bit % 8).checked_add(bits)?.div_ceil(8);
            }
            let part = Field { name, start: at, size };
            self.part((type_unit, type_offset), part, depth, fields)?;
        }
        Some(())
    }

    /// How far a member lies behind the beginning: a number or, up to DWARF 3, what adds one. None where
    /// that is computed.
    fn constant_offset(&self, unit: usize, location: AttributeValue<R>) -> Option<u64> {
        let AttributeValue::Exprloc(location) = location else { return location.udata_value() };
        let mut operations = location.operations(self.units[unit].1.encoding());
        match (operations.next().ok()?, operations.next().ok()?) {
            (Some(Operation::PlusConstant { value }), None) => Some(value),
            _ => None,
        }
    }

    /// Adds a member: its parts if it is a structure, those of each element if it is an array of them.
    fn part(
        &self,
        (unit, offset): (usize, UnitOffset),
        part: Field,
        depth: u32,
        fields: &mut Vec<Field>,
    ) -> Option<()> {
        let (element_unit, element, is_array) = self.element(unit, offset)?;
        let tag = self.die(element_unit, element)?.tag();
        let is_structure = matches!(
            tag,
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type
        );
        if !is_structure || part.size == 0 {
            if fields.len() >= MOST || part.name.len() > MAX_SPELLING {
                return None;
            }
            if part.size > 0 {
                fields.push(part);
            }
            return Some(());
        }
        let each = self.size(element_unit, element, MAX_DEPTH).filter(|&each| each > 0)?;
        // What has no name itself is named by its parts alone.
        let inner = if part.name.is_empty() || part.name.ends_with('.') {
            part.name
        } else {
            format!("{}{}", part.name, if is_array { "[]." } else { "." })
        };
        for number in 0..part.size / each {
            self.burn()?;
            let start = part.start.checked_add(number.checked_mul(each)?)?;
            self.members((element_unit, element), (start, &inner), depth, fields)?;
        }
        Some(())
    }
}

/// Parts by their beginnings, those that share bytes as one.
fn joined(mut fields: Vec<Field>) -> Vec<Field> {
    fields.sort_by_key(|field| field.start);
    let mut list: Vec<Field> = Vec::new();
    for field in fields {
        let end = field.start.saturating_add(field.size);
        match list.last_mut() {
            Some(last) if field.start < last.start.saturating_add(last.size) => {
                last.size = last.size.max(end - last.start);
                if last.name.len() <= MAX_SPELLING && last.name.split('|').all(|n| n != field.name)
                {
                    last.name = format!("{}|{}", last.name, field.name);
                }
            }
            _ => list.push(field),
        }
    }
    list
}
