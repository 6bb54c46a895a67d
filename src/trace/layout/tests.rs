use super::description::Description;
use super::pattern::{Fields, Pattern, Reach};

fn matched(pattern: &str, text: &str, reach: Reach) -> Option<Vec<String>> {
    let mut fields = Fields::empty();
    let pattern = Pattern::parse(pattern, &mut fields).unwrap();
    let mut captures = vec![None; fields.len()];
    pattern.matches(text.as_bytes(), reach, &mut captures)?;
    let value = |c: &Option<&[u8]>| String::from_utf8_lossy(c.unwrap_or_default()).into_owned();
    Some(captures.iter().map(value).collect())
}

fn values(pattern: &str, text: &str) -> Option<Vec<String>> {
    matched(pattern, text, Reach::Whole)
}

#[test]
fn fields_end_where_the_pattern_goes_on() {
    let gem5 = "{time}: {name}: {thread} : {pc} @{sym} : {text} : {class} : {items}";
    let line = "416029000: system.cpu: T0 : 0x10436 @main+2    : c_swsp ra, 60(sp)          : MemWrite :  D=0x05 A=0x7c";
    assert_eq!(
        values(gem5, line).unwrap(),
        [
            "416029000",
            "system.cpu",
            "T0",
            "0x10436",
            "main+2",
            "c_swsp ra, 60(sp)",
            "MemWrite",
            "D=0x05 A=0x7c"
        ]
    );
    assert_eq!(values(gem5, "1: cpu: T0 : 0x1 @f : nop : IntAlu :").unwrap()[7], "");
    assert_eq!(values(gem5, "1: cpu: T0 : 0x1 @f : nop"), None);
    assert_eq!(values("{a} {b}", "x   y z").unwrap(), ["x", "y z"]);
    assert_eq!(values("<{a}>", "<x>>"), Some(vec!["x>".into()]));
    assert_eq!(values("{a}={{{b}}}", "k={v}"), Some(vec!["k".into(), "v".into()]));
    assert_eq!(values("{a}:", "x:y"), None);
    assert_eq!(
        values("core {cpu}: {rest}", "core   3: 0x80"),
        Some(vec!["3".into(), "0x80".into()])
    );
}

#[test]
fn items_are_words() {
    let item = |pattern, text| matched(pattern, text, Reach::Words);
    assert_eq!(item("{name}={value}", "x9=0x05 x8=7"), Some(vec!["x9".into(), "0x05".into()]));
    assert_eq!(item("{name}={value}", "x9:0x05 x8=7"), None);
    assert_eq!(
        item("PA:{a} store:{v}", "PA:0x20 store:0x00  load:1"),
        Some(vec!["0x20".into(), "0x00".into()])
    );
    assert_eq!(item("{name} {value}", "x9   0x05 x8 7"), Some(vec!["x9".into(), "0x05".into()]));
}

#[test]
fn what_is_wrong_with_a_layout_is_said_with_its_line() {
    for (text, line, words) in [
        ("pattern = ", 1, "string"),
        ("isa = \"arm\"\ncolours = 1\npattern = \"{pc}\"", 2, "unknown key `colours`"),
        ("pattern = \"{time}\"", 1, "{pc}"),
        ("\npattern = \"{pc\"", 2, "without `}`"),
        ("pattern = \"{pc}{text}\"", 1, "nothing between"),
        ("pattern = \"{pc:oct}\"", 1, "hex or dec"),
        ("isa = \"z80\"\npattern = \"{pc}\"", 1, "z80"),
        ("pattern = \"{pc}\"\ncolumns = [\"pc\"]", 1, "either"),
        (
            "pattern = \"{pc} {items}\"\n[[item]]\nkind = \"write\"\npattern = \"{name}\"",
            2,
            "{value}",
        ),
        (
            "pattern = \"{pc} {items}\"\n[[item]]\nkind = \"colour\"\npattern = \"{name}\"",
            2,
            "colour",
        ),
        ("pattern = \"{pc}\"\n[[item]]\nkind = \"load\"\npattern = \"{address}\"", 1, "{items}"),
        (
            "pattern = \"{pc} {items}\"\n[[item]]\nkind = \"register\"\npattern = \"{name}={value}\"",
            1,
            "values",
        ),
        ("pattern = [\"{pc}\", 3]", 1, "not a text"),
        ("pattern = \"{pc}\"\nvalues = \"now\"", 2, "before or after"),
    ] {
        let (at, message) = Description::parse(text).err().unwrap_or_else(|| panic!("{text}"));
        assert!(at == line && message.contains(words), "{text}: {at}: {message}");
    }
}
