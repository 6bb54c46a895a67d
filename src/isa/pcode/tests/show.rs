//! A decoded instruction as a line.

use crate::event::{Isa, RegSpan};
use crate::isa::pcode::registers;
use crate::isa::{Decoded, Expr, RegAccess};

/// `text | reads | writes | memory | flow`: control registers in brackets, `R4[r1+4]=r0` a load of
/// 4 bytes into r0 unchanged.
pub fn show(isa: Isa, d: &Decoded) -> String {
    let file = registers(isa);
    let name = |s: RegSpan| {
        let full = file.at(s.offset).map(|r| (r.name.clone(), r.span)).unwrap();
        if full.1 == s {
            full.0
        } else {
            format!("{}.{}+{}", full.0, s.offset - full.1.offset, s.size)
        }
    };
    fn expression(e: &Expr, name: &dyn Fn(RegSpan) -> String) -> String {
        match e {
            Expr::Const(c) if (*c as i64) < 0 => format!("-{:#x}", c.wrapping_neg()),
            Expr::Const(c) => format!("{c:#x}"),
            Expr::Reg(r) => name(*r),
            Expr::Binary(op, a, b) => {
                format!("({} {op:?} {})", expression(a, name), expression(b, name)).to_lowercase()
            }
            Expr::ZeroExtend(bits, a) => format!("u{bits}{}", expression(a, name)),
            Expr::SignExtend(bits, a) => format!("s{bits}{}", expression(a, name)),
            Expr::Unknown => "?".to_string(),
        }
    }
    let list = |all: &[RegAccess]| {
        let names = all
            .iter()
            .map(|a| if a.control { format!("[{}]", name(a.span)) } else { name(a.span) });
        names.collect::<Vec<_>>().join(" ")
    };
    let memory: Vec<String> = d
        .memory
        .iter()
        .map(|m| {
            let guard = m
                .guard
                .as_ref()
                .map(|g| format!(" if {}", expression(g, &name)))
                .unwrap_or_default();
            let data = m.data_register.map(|r| format!("={}", name(r))).unwrap_or_default();
            let marks = format!(
                "{}{}",
                if m.stack_relative { " stack" } else { "" },
                if m.control { " control" } else { "" }
            );
            format!(
                "{}{}[{}]{data}{marks}{guard}",
                if m.is_write { 'W' } else { 'R' },
                m.size,
                expression(&m.address, &name)
            )
        })
        .collect();
    let mut flow = d.flow.kind.name().to_string();
    if let Some(t) = d.flow.target {
        flow += &format!(" {t:#x}");
    }
    if d.flow.conditional {
        flow += " conditional";
    }
    if let Some((r, v)) = d.success {
        flow += &format!(" success {}={v}", name(r));
    }
    if d.condition.is_some() {
        flow += " if";
    }
    format!(
        "{} | {} | {} | {} | {flow}",
        d.text,
        list(&d.reads),
        list(&d.writes),
        memory.join(", ")
    )
}
