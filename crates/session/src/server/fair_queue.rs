//! In which order tests that wait get their turn: clients take turns, and among those who have
//! as much, who came first is first.

use std::collections::HashMap;

use measurement::Order;

use super::client_prefix::{ClientNetwork, ClientOrigin, ClientPrefix};

/// Sorts those that wait, given as they came, where others of these origins `run` already.
pub(crate) fn in_turn(
    running: impl Iterator<Item = ClientOrigin>,
    waiting: impl Iterator<Item = (u64, ClientOrigin)>,
) -> Vec<u64> {
    let mut before = Before::default();
    running.for_each(|client| _ = before.count(client));
    let mut all: Vec<_> = waiting.map(|(number, client)| (before.count(client), number)).collect();
    all.order();
    all.into_iter().map(|(_, number)| number).collect()
}

/// How many tests each has that come before.
#[derive(Default)]
struct Before {
    of_client: HashMap<ClientPrefix, usize>,
    of_network: HashMap<ClientNetwork, usize>,
}

impl Before {
    /// One more test of `client`: how many it has before that, and its network.
    fn count(&mut self, client: ClientOrigin) -> (usize, usize) {
        let own = self.of_client.entry(client.prefix).or_default();
        let all = self.of_network.entry(client.network).or_default();
        (*own, *all) = (*own + 1, *all + 1);
        (*own - 1, *all - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn client(network: u8, last: u8) -> ClientOrigin {
        ClientOrigin::of(Ipv4Addr::new(10, 0, network, last).into())
    }

    #[test]
    fn clients_take_turns_and_networks_too() {
        let waiting = [(1, client(1, 1)), (2, client(1, 1)), (3, client(1, 2)), (4, client(2, 1))];
        let order =
            |running: &[ClientOrigin]| in_turn(running.iter().copied(), waiting.iter().copied());
        assert_eq!(order(&[]), [1, 4, 3, 2], "one of each network, of each client, then the rest");
        assert_eq!(order(&[client(1, 1)]), [4, 3, 1, 2], "the first has a test already");
    }

    #[test]
    fn hosts_with_a_test_each_come_in_the_order_in_which_they_came() {
        let waiting = (0..9).map(|last| (u64::from(last), client(1, last)));
        assert_eq!(in_turn(std::iter::empty(), waiting), (0..9).collect::<Vec<_>>());
    }
}
