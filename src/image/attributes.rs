//! Build attributes of ARM's files: for which profile they were made.
//!
//! Source: Addenda to, and Errata in, the ABI for the Arm Architecture (IHI 0045), 2.2 and 3.3.

use gimli::{EndianSlice, Error, Reader, RunTimeEndian};

/// Attributes of the whole file.
const TAG_FILE: u8 = 1;
const TAG_CPU_RAW_NAME: u64 = 4;
const TAG_CPU_NAME: u64 = 5;
const TAG_CPU_ARCH_PROFILE: u64 = 7;
const TAG_COMPATIBILITY: u64 = 32;

/// `Tag_CPU_arch_profile` of the contents of `.ARM.attributes`: a letter, if it is there.
pub fn profile(section: &[u8], big_endian: bool) -> Result<Option<u8>, Error> {
    let endian = if big_endian { RunTimeEndian::Big } else { RunTimeEndian::Little };
    let mut rest = EndianSlice::new(section, endian);
    if rest.read_u8()? != b'A' {
        return Ok(None);
    }
    while !rest.is_empty() {
        let mut vendor = part(&mut rest, 0)?;
        if vendor.read_null_terminated_slice()?.slice() != b"aeabi" {
            continue;
        }
        while !vendor.is_empty() {
            let kind = vendor.read_u8()?;
            let mut tags = part(&mut vendor, 1)?;
            while kind == TAG_FILE && !tags.is_empty() {
                match tags.read_uleb128()? {
                    TAG_CPU_ARCH_PROFILE => return Ok(u8::try_from(tags.read_uleb128()?).ok()),
                    TAG_COMPATIBILITY => {
                        tags.read_uleb128()?;
                        tags.read_null_terminated_slice()?;
                    }
                    TAG_CPU_RAW_NAME | TAG_CPU_NAME => drop(tags.read_null_terminated_slice()?),
                    // Above, odd ones are text.
                    tag if tag > TAG_COMPATIBILITY && tag % 2 == 1 => {
                        tags.read_null_terminated_slice()?;
                    }
                    _ => drop(tags.read_uleb128()?),
                }
            }
        }
    }
    Ok(None)
}

/// What a length in front says; it counts itself and so many bytes before.
fn part<'a>(
    rest: &mut EndianSlice<'a, RunTimeEndian>,
    before: u32,
) -> Result<EndianSlice<'a, RunTimeEndian>, Error> {
    let length = rest.read_u32()?;
    let length = length.checked_sub(4 + before).ok_or(Error::UnexpectedEof(rest.offset_id()))?;
    rest.split(length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `readelf -A` shows it: a name, an architecture, a profile.
    fn section(profile: u8) -> Vec<u8> {
        let tags = [b"\x05Cortex-M3\0\x06\x0a\x43text\0\x07".as_slice(), &[profile]].concat();
        let length = |n: usize| (n as u32).to_le_bytes();
        let file = [&[1u8][..], &length(tags.len() + 5), &tags].concat();
        let vendor = [&length(file.len() + 10)[..], b"aeabi\0", &file].concat();
        [b"A".as_slice(), &vendor].concat()
    }

    #[test]
    fn a_profile_is_found() {
        assert_eq!(profile(&section(b'M'), false), Ok(Some(b'M')));
        assert_eq!(profile(&section(b'A'), false), Ok(Some(b'A')));
        assert_eq!(profile(b"A", false), Ok(None));
    }

    #[test]
    fn what_is_cut_is_an_error() {
        let whole = section(b'M');
        for end in 2..whole.len() {
            assert!(profile(&whole[..end], false).is_err(), "{end}");
        }
    }
}
