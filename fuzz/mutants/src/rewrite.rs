//! One file: what is changed in it, and how.

use quote::ToTokens;
use std::collections::HashSet;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, BinOp, Block, Expr, ReturnType, Signature, Stmt, Type, UnOp, parse_quote};

/// A mutant.
pub struct Site {
    pub id: u32,
    pub line: usize,
    pub function: String,
    pub change: String,
}

struct Rewriter<'a> {
    next: &'a mut u32,
    skip: &'a HashSet<u32>,
    found: Vec<Site>,
    functions: Vec<String>,
}

/// The file with all its mutants, and which these are.
pub fn rewrite(text: &str, next: &mut u32, skip: &HashSet<u32>) -> (String, Vec<Site>) {
    let mut file = syn::parse_file(text).expect("Rust");
    let mut rewriter = Rewriter { next, skip, found: Vec::new(), functions: Vec::new() };
    rewriter.visit_file_mut(&mut file);
    (file.into_token_stream().to_string(), rewriter.found)
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let text = a.to_token_stream().to_string();
        text.contains("cfg (test)") || text.contains("[test]") || text.contains("derive")
    })
}

/// Source text on one line, cut.
fn short(tokens: &impl ToTokens) -> String {
    let text = tokens.to_token_stream().to_string();
    let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() > 90 { text.chars().take(87).collect::<String>() + "..." } else { text }
}

fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

/// Operators that take the place of one.
fn others(op: &BinOp) -> Vec<BinOp> {
    match op {
        BinOp::Lt(_) => vec![parse_quote!(<=)],
        BinOp::Le(_) => vec![parse_quote!(<)],
        BinOp::Gt(_) => vec![parse_quote!(>=)],
        BinOp::Ge(_) => vec![parse_quote!(>)],
        BinOp::Eq(_) => vec![parse_quote!(!=)],
        BinOp::Ne(_) => vec![parse_quote!(==)],
        BinOp::And(_) => vec![parse_quote!(||)],
        BinOp::Or(_) => vec![parse_quote!(&&)],
        BinOp::Add(_) => vec![parse_quote!(-)],
        BinOp::Sub(_) => vec![parse_quote!(+)],
        BinOp::Mul(_) => vec![parse_quote!(+)],
        BinOp::Div(_) => vec![parse_quote!(*)],
        BinOp::Rem(_) => vec![parse_quote!(/)],
        BinOp::BitAnd(_) => vec![parse_quote!(|)],
        BinOp::BitOr(_) => vec![parse_quote!(&)],
        BinOp::BitXor(_) => vec![parse_quote!(|)],
        BinOp::Shl(_) => vec![parse_quote!(>>)],
        BinOp::Shr(_) => vec![parse_quote!(<<)],
        BinOp::AddAssign(_) => vec![parse_quote!(-=)],
        BinOp::SubAssign(_) => vec![parse_quote!(+=)],
        BinOp::BitAndAssign(_) => vec![parse_quote!(|=)],
        BinOp::BitOrAssign(_) => vec![parse_quote!(&=)],
        BinOp::ShlAssign(_) => vec![parse_quote!(>>=)],
        BinOp::ShrAssign(_) => vec![parse_quote!(<<=)],
        _ => Vec::new(),
    }
}

/// What a function may return at once.
fn constants(output: &ReturnType) -> Vec<Expr> {
    let ReturnType::Type(_, of) = output else { return vec![parse_quote!(())] };
    let Type::Path(path) = &**of else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    match last.ident.to_string().as_str() {
        "bool" => vec![parse_quote!(true), parse_quote!(false)],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i64" | "i32" => {
            vec![parse_quote!(0), parse_quote!(1)]
        }
        "Option" => vec![parse_quote!(None)],
        "Vec" => vec![parse_quote!(Vec::new())],
        _ => Vec::new(),
    }
}

impl Rewriter<'_> {
    /// A new id; None if it is left out.
    fn site(&mut self, line: usize, change: String) -> Option<u32> {
        let id = *self.next;
        *self.next += 1;
        if self.skip.contains(&id) {
            return None;
        }
        let function = self.functions.join("::");
        self.found.push(Site { id, line, function, change });
        Some(id)
    }

    /// Chooses between an expression and another one.
    fn choose(&mut self, line: usize, change: String, expr: &mut Expr, other: Expr) {
        if let Some(id) = self.site(line, change) {
            let old = expr.clone();
            *expr = parse_quote!((if crate::mutants::on(#id) { #other } else { #old }));
        }
    }

    fn function(&mut self, signature: &Signature, attributes: &[Attribute], block: &mut Block) {
        if signature.constness.is_some() || is_test(attributes) {
            return;
        }
        self.functions.push(signature.ident.to_string());
        let line = signature.ident.span().start().line;
        self.visit_block_mut(block);
        if !block.stmts.is_empty() {
            let mut early: Vec<Stmt> = Vec::new();
            for value in constants(&signature.output) {
                let change = format!("returns {} at once", short(&value));
                if let Some(id) = self.site(line, change) {
                    early.push(parse_quote!(if crate::mutants::on(#id) { return #value; }));
                }
            }
            block.stmts.splice(0..0, early);
        }
        self.functions.pop();
    }

    fn condition(&mut self, cond: &mut Expr) {
        let line = cond.span().start().line;
        let text = short(cond);
        self.visit_expr_mut(cond);
        if has_let(cond) {
            return;
        }
        if let Some(id) = self.site(line, format!("condition negated: {text}")) {
            let old = cond.clone();
            *cond = parse_quote!((crate::mutants::on(#id) != (#old)));
        }
    }

    fn binary(&mut self, expr: &mut Expr) {
        let Expr::Binary(b) = expr else { return };
        let line = b.op.span().start().line;
        let (left, op, right, lets) =
            (short(&b.left), short(&b.op), short(&b.right), has_let(expr));
        let Expr::Binary(b) = expr else { return };
        self.visit_expr_mut(&mut b.left);
        self.visit_expr_mut(&mut b.right);
        if lets {
            return;
        }
        let (l, o, r) = (b.left.clone(), b.op, b.right.clone());
        for other in others(&o) {
            let with = short(&other);
            let new: Expr = parse_quote!((#l) #other (#r));
            let new =
                if matches!(*l, Expr::Path(_) | Expr::Unary(_) | Expr::Field(_) | Expr::Index(_)) {
                    // The left of an assignment is a place.
                    parse_quote!(#l #other (#r))
                } else {
                    new
                };
            self.choose(line, format!("{left} {op} {right}: {with}"), expr, new);
        }
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}
    fn visit_generics_mut(&mut self, _: &mut syn::Generics) {}
    fn visit_item_const_mut(&mut self, _: &mut syn::ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut syn::ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut syn::TraitItemConst) {}
    fn visit_item_enum_mut(&mut self, _: &mut syn::ItemEnum) {}
    fn visit_item_struct_mut(&mut self, _: &mut syn::ItemStruct) {}
    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}
    fn visit_expr_repeat_mut(&mut self, e: &mut syn::ExprRepeat) {
        self.visit_expr_mut(&mut e.expr);
    }

    fn visit_item_mod_mut(&mut self, item: &mut syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit_mut::visit_item_mod_mut(self, item);
        }
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        self.function(&item.sig, &item.attrs, &mut item.block);
    }
    fn visit_impl_item_fn_mut(&mut self, item: &mut syn::ImplItemFn) {
        self.function(&item.sig, &item.attrs, &mut item.block);
    }
    fn visit_trait_item_fn_mut(&mut self, item: &mut syn::TraitItemFn) {
        if let Some(block) = &mut item.default {
            self.function(&item.sig, &item.attrs, block);
        }
    }
    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        self.functions.push(short(&item.self_ty).replace(' ', ""));
        visit_mut::visit_item_impl_mut(self, item);
        self.functions.pop();
    }

    fn visit_expr_if_mut(&mut self, e: &mut syn::ExprIf) {
        self.condition(&mut e.cond);
        self.visit_block_mut(&mut e.then_branch);
        if let Some((_, other)) = &mut e.else_branch {
            self.visit_expr_mut(other);
        }
    }
    fn visit_expr_while_mut(&mut self, e: &mut syn::ExprWhile) {
        self.condition(&mut e.cond);
        self.visit_block_mut(&mut e.body);
    }
    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        if let Some((_, guard)) = &mut arm.guard {
            self.condition(guard);
        }
        self.visit_expr_mut(&mut arm.body);
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        let line = stmt.span().start().line;
        let text = short(stmt);
        visit_mut::visit_stmt_mut(self, stmt);
        let Stmt::Expr(expr, Some(_)) = stmt else { return };
        // What is an operator's mutant is in parentheses now.
        let inner = match &*expr {
            Expr::Paren(p) => match &*p.expr {
                Expr::If(_) => true,
                _ => false,
            },
            Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_) | Expr::Binary(_) => true,
            _ => false,
        };
        if inner && let Some(id) = self.site(line, format!("left out: {text}")) {
            let old = expr.clone();
            *stmt = parse_quote!(if crate::mutants::on(#id) {} else { #old; });
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let line = expr.span().start().line;
        match expr {
            Expr::Binary(_) => self.binary(expr),
            Expr::Unary(u) if matches!(u.op, UnOp::Not(_)) => {
                let text = short(u);
                self.visit_expr_mut(&mut u.expr);
                let other = (*u.expr).clone();
                self.choose(line, format!("{text}: without !"), expr, other);
            }
            Expr::Lit(l) => {
                let syn::Lit::Int(number) = &l.lit else { return };
                let Ok(value) = number.base10_parse::<u128>() else { return };
                let text = format!("{}{}", value + 1, number.suffix());
                let other: Expr = syn::parse_str(&text).expect("a number");
                let change = format!("{number}: {text}");
                self.choose(line, change, expr, other);
            }
            Expr::Macro(_) => {}
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mutant_is_chosen_by_its_number() {
        let text = "fn f(a: u32, v: &mut Vec<u32>) -> bool { if a < 3 { v.push(a); } !v.is_empty() && a > 1 }\n\
                    const fn g() -> u32 { 1 + 2 }\n#[cfg(test)] mod tests { fn h() -> u32 { 1 } }";
        let (new, found) = rewrite(text, &mut 1, &HashSet::new());
        let changes: Vec<_> = found.iter().map(|s| s.change.as_str()).collect();
        assert_eq!(
            changes,
            [
                "3: 4",
                "a < 3: <=",
                "condition negated: a < 3",
                "left out: v . push (a) ;",
                "! v . is_empty (): without !",
                "1: 2",
                "a > 1: >=",
                "! v . is_empty () && a > 1: ||",
                "returns true at once",
                "returns false at once"
            ]
        );
        assert!(syn::parse_file(&new).is_ok(), "{new}");
        assert!(found.iter().all(|s| s.line == 1 && s.function == "f"));
        let (_, fewer) = rewrite(text, &mut 1, &HashSet::from([2]));
        assert_eq!(fewer.len() + 1, found.len());
        assert_eq!(fewer[1].id, 3);
    }
}
