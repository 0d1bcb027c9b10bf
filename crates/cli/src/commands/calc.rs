//! `linerate calc`: arithmetic, in tables.

use std::io::{self, Write};
use std::process::ExitCode;

use analysis::calc::{
    Fragments, Goodput, Headers, Impossible, Mtu, Network, Packets, Segmentation, Transport, Tunnel,
};
use measurement::ByteSize;
use report::grid::{Column, Grid, Value};
use report::plot::{Axis, Curve, Plot, Scale, Side, Unit};

use crate::exit::UsageError;
use crate::flags::{
    CalcFlags, Calculation, FragmentsFlags, GoodputFlags, Mtus, PacketsFlags, TsoFlags,
};
use crate::{charset, output, terminal};

pub(crate) fn run(flags: &CalcFlags) -> anyhow::Result<ExitCode> {
    let (grid, plot) = match &flags.what {
        Calculation::Tso(tso) => (segmentation(tso)?, Some(saw(tso))),
        Calculation::Packets(packets) => (self::packets(packets)?, None),
        Calculation::Fragments(fragments) => (self::fragments(fragments)?, None),
        Calculation::Goodput(goodput) => (self::goodput(goodput)?, None),
    };
    if flags.json {
        output::print_text(format!("{:#}\n", grid.to_json()).as_bytes())?;
    } else if flags.csv {
        output::print_table(|out| grid.write_csv(out))?;
    } else {
        output::print_table(|out| write(&grid, plot.as_ref(), out))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(grid: &Grid, plot: Option<&Plot>, out: &mut dyn Write) -> io::Result<()> {
    grid.write_within(out, terminal::room())?;
    let Some(plot) = plot else { return Ok(()) };
    writeln!(out)?;
    plot.write(terminal::width(), charset::glyphs(), out)
}

fn segmentation(flags: &TsoFlags) -> Result<Grid, UsageError> {
    let mut grid = Grid::new(columns(&[
        ("MTU", "mtu_bytes"),
        ("segment", "segment_bytes"),
        ("segments", "segments"),
        ("payload", "payload_bytes"),
        ("packets", "packets_bytes"),
        ("efficiency", "efficiency_ratio"),
    ]));
    for mtu in each(&flags.mtu)? {
        let one = segmented(flags, mtu)?;
        grid.push(vec![
            Value::Count(mtu.bytes().into()),
            Value::Bytes(one.segment),
            Value::Count(one.segments.into()),
            Value::Bytes(one.payload),
            Value::Bytes(one.packets),
            Value::Share(one.efficiency),
        ]);
    }
    Ok(grid)
}

fn segmented(flags: &TsoFlags, mtu: Mtu) -> Result<Segmentation, UsageError> {
    let size = ByteSize::from_bytes(flags.gso_max_size);
    Segmentation::new(mtu, flags.headers, size).map_err(|error| refused(&error))
}

/// The efficiency at every MTU between the least and the most; one alone has its surroundings.
fn saw(flags: &TsoFlags) -> Plot {
    let all = &flags.mtu.0;
    let (least, most) = (all.iter().min().copied(), all.iter().max().copied());
    let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
    let (from, to) = if least == most { (least / 2, least * 2) } else { (least, most) };
    // A narrow MTU beside the list may have no room for the headers.
    let points = (from..=to).filter_map(|mtu| Some((mtu, Mtu::new(mtu).ok()?)));
    let efficiency = |mtu| segmented(flags, mtu).ok().map(|one| one.efficiency);
    let points = points.filter_map(|(mtu, valid)| Some((f64::from(mtu), efficiency(valid)?)));
    let axis = |title: &str, unit| Axis { title: title.to_owned(), unit, scale: Scale::Linear };
    Plot {
        x: axis("MTU in bytes", Unit::Count),
        left: axis("efficiency", Unit::Share),
        right: None,
        curves: vec![Curve { name: String::new(), points: points.collect(), side: Side::Left }],
    }
}

fn packets(flags: &PacketsFlags) -> Result<Grid, UsageError> {
    let mut grid = Grid::new(columns(&[
        ("MTU", "mtu_bytes"),
        ("on the link", "link_bytes"),
        ("packets", "packets_per_second"),
        ("time for each", "packet_seconds"),
        ("pages", "pages_per_second"),
    ]));
    for mtu in &flags.mtu.0 {
        let valid = if flags.l2 { mtu.saturating_sub(ETHERNET) } else { *mtu };
        let one = Mtu::new(valid).and_then(|valid| {
            let page = (flags.page, flags.per_page);
            Packets::new((flags.rate, flags.layer.into()), valid, Headers::default(), page)
        });
        let one = one.map_err(|error| refused(&error))?;
        grid.push(vec![
            Value::Count((*mtu).into()),
            Value::Bytes(one.frame),
            Value::PerSecond(one.packets),
            Value::known(one.interval_seconds(), Value::Seconds),
            Value::PerSecond(one.pages),
        ]);
    }
    Ok(grid)
}

fn fragments(flags: &FragmentsFlags) -> Result<Grid, UsageError> {
    let mut grid = Grid::new(columns(&[
        ("page", "page_bytes"),
        ("aligned", "aligned_fragments"),
        ("any offset", "any_offset_fragments"),
        ("of two writes", "two_writes_fragments"),
        ("most in one skb", "most_bytes"),
    ]));
    for page in &flags.page {
        let one = Fragments::new(flags.size, *page, flags.max_frags);
        let one = one.map_err(|error| refused(&error))?;
        grid.push(vec![
            Value::Size(one.page),
            Value::Count(one.aligned),
            Value::Count(one.any_offset),
            Value::Count(one.two_writes),
            Value::Size(one.most),
        ]);
    }
    Ok(grid)
}

fn goodput(flags: &GoodputFlags) -> Result<Grid, UsageError> {
    let mut grid = Grid::new(columns(&[
        ("headers", "headers"),
        ("MTU", "mtu_bytes"),
        ("payload", "payload_bytes"),
        ("on the line", "line_bytes"),
        ("share", "payload_ratio"),
        ("goodput", "goodput_bits_per_second"),
    ]));
    let usual = usual_headers();
    let sets = if flags.headers.is_empty() { &usual[..] } else { &flags.headers };
    for headers in sets {
        for mtu in each(&flags.mtu)? {
            let one = Goodput::new(flags.rate, mtu, *headers).map_err(|error| refused(&error))?;
            grid.push(vec![
                Value::Text(headers.to_string()),
                Value::Count(mtu.bytes().into()),
                Value::Bytes(one.payload),
                Value::Bytes(one.on_line),
                Value::Share(one.share),
                Value::Rate(one.rate),
            ]);
        }
    }
    Ok(grid)
}

/// The headers that a table without a choice has.
fn usual_headers() -> [Headers; 8] {
    let tcp = Headers::default();
    let through = |tunnel| Headers { tunnel: Some(tunnel), ..tcp };
    [
        tcp,
        Headers { transport: Transport::TcpWithoutTimestamps, ..tcp },
        Headers { transport: Transport::Udp, ..tcp },
        Headers { network: Network::Ipv6, ..tcp },
        Headers { vlan_tags: 1, ..tcp },
        through(Tunnel::Vxlan),
        through(Tunnel::WireGuard),
        through(Tunnel::Esp),
    ]
}

fn columns(names: &[(&'static str, &'static str)]) -> Vec<Column> {
    names.iter().map(|(title, key)| Column { title, key }).collect()
}

fn each(mtus: &Mtus) -> Result<Vec<Mtu>, UsageError> {
    mtus.0.iter().map(|mtu| Mtu::new(*mtu).map_err(|error| refused(&error))).collect()
}

fn refused(error: &Impossible) -> UsageError {
    UsageError(error.to_string())
}

/// Bytes of an Ethernet header (IEEE 802.3, clause 3).
const ETHERNET: u32 = 14;
