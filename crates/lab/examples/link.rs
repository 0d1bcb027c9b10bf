//! Makes a link of 100 Mbit/s, shows it and connects over it.
//!
//! Works as any user where the system permits user namespaces:
//! `cargo run -p linerate-lab --example link`

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "printing is what an example is for")]
#![expect(clippy::disallowed_methods, reason = "an example measures time")]

use std::error::Error;
use std::io;
use std::net::{SocketAddr, SocketAddrV6, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use linerate_lab::{Access, Host, Link, LinkSpec, Rate, Shape};

fn main() -> Result<(), Box<dyn Error>> {
    let access = linerate_lab::prepare();
    println!("access: {access:?}");
    if matches!(access, Access::Forbidden { .. }) {
        return Ok(());
    }
    let shape = Rate::from_bits_per_second(100_000_000).map(Shape::with_rate);
    let start = Instant::now();
    let link = Link::create(&LinkSpec { shape, ..LinkSpec::default() })?;
    println!("link made in {:?}", start.elapsed());
    show("near", &link.near)?;
    show("far", &link.far)?;
    for address in addresses_of_far(&link) {
        println!("near -> {address}: connected in {:?}", connect(&link, address)?);
    }
    Ok(())
}

fn show(name: &str, host: &Host) -> Result<(), Box<dyn Error>> {
    println!(
        "{name}: {} index {} mtu {} net:[{}] {} {:?} {:?}",
        host.interface(),
        host.scope_id(),
        host.link()?.mtu,
        host.namespace().inode()?,
        host.ipv4(),
        host.ipv6(),
        host.link_local(),
    );
    Ok(())
}

/// The addresses of the far end, as the near end has to write them.
fn addresses_of_far(link: &Link) -> Vec<SocketAddr> {
    let ipv4 = SocketAddr::from((link.far.ipv4(), 0));
    let ipv6 = link.far.ipv6().map(|address| (address, 0).into());
    let scope = link.near.scope_id();
    let scoped = |address| SocketAddrV6::new(address, 0, 0, scope).into();
    let link_local = link.far.link_local().map(scoped);
    [Some(ipv4), ipv6, link_local].into_iter().flatten().collect()
}

/// How long a connection from the near to the far end takes to establish.
fn connect(link: &Link, mut address: SocketAddr) -> Result<Duration, Box<dyn Error>> {
    let mut bind_to = address;
    if let SocketAddr::V6(bind_to) = &mut bind_to {
        bind_to.set_scope_id(link.far.scope_id());
    }
    let listener = link.far.run(|| TcpListener::bind(bind_to))??;
    address.set_port(listener.local_addr()?.port());
    let elapsed = link.near.run(|| -> io::Result<_> {
        let start = Instant::now();
        TcpStream::connect(address)?;
        Ok(start.elapsed())
    })??;
    Ok(elapsed)
}
