//! The communication matrix, as a picture.

use super::part_of;
use super::svg::{n, round_steps};
use super::units::{count, plain, size};
use machine::instruments::account::{Rank, Sent};
use maud::{html, Markup};
use std::collections::BTreeMap;

/// Most cells on a side: with more ranks, neighbours share a cell.
const SIDE_MAX: u32 = 64;
/// Pairs that are listed.
const PAIRS_MAX: usize = 12;

/// Left and upper edge of the picture's cells, and its size.
const LEFT: f64 = 56.0;
const TOP: f64 = 14.0;
const SIDE: f64 = 480.0;
/// Left edge and width of the scale of colours beside them, and room for its numbers.
const SCALE: f64 = LEFT + SIDE + 22.0;
const BAND: f64 = 16.0;
const NUMBERS: f64 = 74.0;
/// Shades of the scale.
const SHADES: u32 = 48;

/// The picture, and the pairs with most messages.
pub fn figure(account: &[Rank]) -> Markup {
    let row = |rank: &Rank| {
        let from = rank.rank;
        rank.sent.iter().map(move |sent| (from, sent.clone())).collect::<Vec<_>>()
    };
    let mut pairs: Vec<_> = account.iter().flat_map(row).collect();
    pairs.sort_by_key(|(from, sent)| (std::cmp::Reverse(sent.bytes), *from, sent.to));
    let (all, shown) = (pairs.len(), pairs.len().min(PAIRS_MAX));
    let ranks = account.iter().map(|rank| rank.rank + 1).max().unwrap_or(1);
    html! {
        figure id="matrix" {
            h3 { "Who sends to whom" }
            @if all == 0 { p { "No rank sent a message to another." } } @else {
            (picture(&pairs, ranks))
            h4 { "Most" (part_of(shown, all)) }
            div class="scroll" {
                table {
                    thead { tr {
                        th class="num" { "from rank" } th class="num" { "to rank" }
                        th class="num" { "messages" } th class="num" { "payload" }
                    } }
                    tbody {
                        @for (from, sent) in pairs.iter().take(shown) {
                            tr data-from=(from) data-to=(sent.to) {
                                td class="num" { (from) } td class="num" { (sent.to) }
                                td class="num" { (sent.messages) }
                                td class="num" { (size(sent.bytes)) }
                            }
                        }
                    }
                }
            } }
        }
    }
}

/// Ranks that share a cell.
fn group(ranks: u32) -> u32 {
    ranks.div_ceil(SIDE_MAX)
}

/// Messages and bytes of each cell that has any, by row (from) and column (to).
fn cells(pairs: &[(u32, Sent)], ranks: u32) -> BTreeMap<(u32, u32), (u64, u64)> {
    let group = group(ranks);
    let mut cells = BTreeMap::new();
    for (from, sent) in pairs {
        let cell: &mut (u64, u64) = cells.entry((from / group, sent.to / group)).or_default();
        *cell = (cell.0 + sent.messages, cell.1 + sent.bytes);
    }
    cells
}

fn picture(pairs: &[(u32, Sent)], ranks: u32) -> Markup {
    let (group, cells) = (group(ranks), cells(pairs, ranks));
    let side = SIDE / f64::from(ranks.div_ceil(group));
    let messages = cells.values().all(|(_, bytes)| *bytes == 0);
    let amount = |cell: &(u64, u64)| if messages { cell.0 } else { cell.1 };
    let most = cells.values().map(amount).max().unwrap_or(1).max(1) as f64;
    let names = |number: u32| match group {
        1 => format!("rank {number}"),
        _ => format!("ranks {} to {}", number * group, ((number + 1) * group).min(ranks) - 1),
    };
    let steps = round_steps(f64::from(ranks - 1).max(1.0), 8);
    let ticks: Vec<f64> =
        steps.into_iter().filter(|rank| rank.fract() == 0.0 && *rank < f64::from(ranks)).collect();
    let place = |rank: f64| (rank / f64::from(group)).floor().mul_add(side, side / 2.0);
    let (width, height) = (SCALE + BAND + NUMBERS, TOP + SIDE + 44.0);
    let what = if messages { "messages" } else { "payload" };
    let label = format!("Communication matrix: {what} from each rank to each, of {ranks} ranks");
    html! {
        svg class="chart square" viewBox={ "0 0 " (n(width)) " " (n(height)) } role="img"
            aria-label=(label) data-ranks=(ranks) {
            rect class="field" x=(n(LEFT)) y=(n(TOP)) width=(n(SIDE)) height=(n(SIDE)) {}
            @for ((from, to), cell) in &cells {
                @let strength = strength(root(amount(cell) as f64, most));
                rect class="cell" x=(n(LEFT + f64::from(*to) * side))
                    y=(n(TOP + f64::from(*from) * side)) width=(n(side)) height=(n(side))
                    fill-opacity=(format!("{strength:.3}")) data-tip="" data-from=(from)
                    data-to=(to) data-messages=(cell.0) data-bytes=(cell.1) {
                    title {
                        (names(*from)) " to " (names(*to)) ": " (count(cell.0, "message")) ", "
                        (size(cell.1))
                    }
                }
            }
            (scale(most, messages))
            @for rank in ticks {
                text class="tick" x=(n(LEFT - 6.0)) y=(n(TOP + place(rank) + 4.0))
                    text-anchor="end" { (rank) }
                text class="tick" x=(n(LEFT + place(rank))) y=(n(TOP + SIDE + 16.0))
                    text-anchor="middle" { (rank) }
            }
            text class="title" x=(n(LEFT + SIDE / 2.0)) y=(n(TOP + SIDE + 36.0))
                text-anchor="middle" { "to rank" }
            text class="title" x="14" y=(n(TOP + SIDE / 2.0)) text-anchor="middle"
                transform={ "rotate(-90 14 " (n(TOP + SIDE / 2.0)) ")" } { "from rank" }
        }
        p class="note" {
            "The stronger the colour, the more " (what) "; the most is "
            @if messages { (count(most as u64, "message")) } @else { (size(most as u64)) } "."
            @if group > 1 { " " (group) " ranks that are neighbours share a cell." }
        }
    }
}

/// The place of an amount on the scale, from 0 to 1: the eye tells light from less light by ratios.
fn root(amount: f64, most: f64) -> f64 {
    (amount / most).sqrt()
}

/// Opacity of the colour at a place on the scale.
fn strength(place: f64) -> f64 {
    0.85f64.mul_add(place, 0.15)
}

/// Amounts that are told beside the scale, with their texts; the last one is the most.
fn marks(most: f64, messages: bool) -> Vec<(f64, String)> {
    const UNITS: [(f64, &str); 4] =
        [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    let unit = UNITS.into_iter().find(|(unit, _)| most >= 2.0 * unit).unwrap_or(UNITS[3]);
    let (unit, name) = if messages { (1.0, "") } else { unit };
    let text = |amount: f64| format!("{} {name}", plain((amount * 10.0).round() / 10.0));
    let steps = round_steps(most / unit, 4).into_iter();
    // A mark just below the most would be written over it.
    let clear = |step: &f64| step.fract() == 0.0 && root(step * unit, most) < 0.93;
    let steps = steps.filter(clear).map(|step| (step * unit, text(step)));
    let all = steps.chain([(most, text(most / unit))]);
    all.map(|(amount, text)| (amount, text.trim_end().to_owned())).collect()
}

/// The scale of colours beside the cells, with its numbers.
fn scale(most: f64, messages: bool) -> Markup {
    let height = SIDE / f64::from(SHADES);
    let end = TOP + SIDE;
    html! {
        rect class="field" x=(n(SCALE)) y=(n(TOP)) width=(n(BAND)) height=(n(SIDE)) {}
        @for shade in 0..SHADES {
            @let place = (f64::from(shade) + 0.5) / f64::from(SHADES);
            rect class="shade" x=(n(SCALE)) y=(n(end - f64::from(shade + 1) * height))
                width=(n(BAND)) height=(n(height))
                fill-opacity=(format!("{:.3}", strength(place))) {}
        }
        @for (amount, text) in marks(most, messages) {
            @let at = end - SIDE * root(amount, most);
            g class="amount" {
                line class="axis" x1=(n(SCALE + BAND)) x2=(n(SCALE + BAND + 4.0)) y1=(n(at))
                    y2=(n(at)) {}
                text class="tick" x=(n(SCALE + BAND + 8.0)) y=(n(at + 4.0)) { (text) }
            }
        }
        text class="title" x=(n(SCALE)) y=(n(end + 36.0)) {
            @if messages { "messages" } @else { "payload" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_tells_amounts_up_to_the_most() {
        let texts = |most, messages| -> Vec<String> {
            marks(most, messages).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(3.0 * 1024.0, false), ["0 KiB", "1 KiB", "2 KiB", "3 KiB"]);
        assert_eq!(texts(2_621_440.0, false), ["0 MiB", "1 MiB", "2 MiB", "2.5 MiB"]);
        assert_eq!(texts(12.0, false), ["0 B", "5 B", "10 B", "12 B"]);
        assert_eq!(texts(40.0, true), ["0", "10", "20", "30", "40"]);
        assert_eq!(texts(1.0, true), ["0", "1"]);
        assert!(strength(0.0) > 0.0 && (strength(root(7.0, 7.0)) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn neighbours_share_cells_where_ranks_are_many() {
        let sent = |to| Sent { to, messages: 1, bytes: 10 };
        let pairs = [(0, sent(1)), (1, sent(127)), (0, sent(126)), (127, sent(0))];
        assert_eq!(cells(&pairs, 128).len(), 3);
        assert_eq!(cells(&pairs, 128)[&(0, 63)], (2, 20));
        assert_eq!(cells(&pairs[..1], 2)[&(0, 1)], (1, 10));
    }
}
