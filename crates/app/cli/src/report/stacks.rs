//! Bars of several parts, with the number of each part beside the bar: a part may be too narrow for it.

use super::svg::n;
use super::units::{share, time};
use maud::{html, Markup};

/// A part of all bars of a table: its look (`p-LOOK` in page.css) and its name.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'a> {
    pub look: &'a str,
    pub name: &'a str,
}

/// Piece of a bar, of which several may be of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Look of its kind.
    pub look: &'a str,
    pub name: &'a str,
    pub ns: f64,
}

/// The heads of the columns with the parts' numbers.
pub fn heads(kinds: &[Kind]) -> Markup {
    html! {
        @for Kind { look, name } in kinds {
            th class="num part" { span class={ "key p-" (look) } {} " " (name) }
        }
    }
}

/// A bar; its whole is `percent` of the column's width.
pub fn bar(pieces: &[Piece], percent: f64) -> Markup {
    let total: f64 = pieces.iter().map(|piece| piece.ns).sum();
    html! {
        div class="whole" {
            div class="stack" style={ "width:" (n(percent)) "%" } {
                @for Piece { look, name, ns } in pieces.iter().filter(|piece| piece.ns > 0.0) {
                    span class={ "p-" (look) } data-place=(look)
                        style={ "width:" (format!("{:.3}", 100.0 * ns / total)) "%" }
                        title={ (name) ": " (time(*ns)) ", " (share(*ns, total)) } {}
                }
            }
        }
    }
}

/// The numbers of its parts, a cell for each kind.
pub fn cells(kinds: &[Kind], pieces: &[Piece]) -> Markup {
    let total: f64 = pieces.iter().map(|piece| piece.ns).sum();
    let sum = |kind: &Kind| -> f64 {
        let own = pieces.iter().filter(|piece| piece.look == kind.look);
        own.map(|piece| piece.ns).fold(0.0, |sum, ns| sum + ns)
    };
    html! {
        @for kind in kinds {
            @let ns = sum(kind);
            td class="num part" data-part=(kind.look) data-ns=(ns) {
                @if ns > 0.0 {
                    (time(ns)) br; span class="dim" { (share(ns, total)) }
                } @else { "-" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_number_however_narrow_it_is() {
        let kinds = [("host", "hosts"), ("dma", "DMA"), ("unit", "units")];
        let kinds = kinds.map(|(look, name)| Kind { look, name });
        let piece = |look, ns| Piece { look, name: "a step", ns };
        let pieces = [piece("host", 90.0), piece("dma", 1.0), piece("host", 909.0)];
        let text = cells(&kinds, &pieces).into_string();
        let shown = ["999.0 ns", "100 %", "1.0 ns", "0.1 %"];
        assert!(shown.iter().all(|number| text.contains(number)), "{text}");
        assert!(text.ends_with("data-ns=\"0\">-</td>"), "{text}");
        assert_eq!(bar(&pieces, 50.0).into_string().matches("<span").count(), 3);
    }
}
