//! Light and heavy traces as CellReplay has them, written anew.

use super::*;

/// CellReplay's way with a packet train, written anew from its `cellular_queue.cc`: milliseconds, packets with their four
/// octets of the TUN device. Gives when each packet is delivered.
fn cellreplay(light: &[(u64, u64, &[u64])], heavy: &[u64], arrivals: &[(u64, u32)]) -> Vec<u64> {
    let (mut origin, mut index, mut base, mut begun) = (0, 0, None, 0);
    let (mut used, mut left, mut released, mut last) = (0, 0, 0, 0);
    let mut delay_queue = Vec::new();
    for (number, &(now, ip)) in arrivals.iter().enumerate() {
        let size = ip + 4;
        let (mut at, mut bypass);
        if base.is_none_or(|base| now + base > released) {
            while light[index + 1].0 <= now - origin {
                index += 1;
                if index >= light.len() - 1 {
                    origin += light[index].0;
                    index = 0;
                }
            }
            let (one, next) = (light[index], light[index + 1]);
            let ratio = (now - origin - one.0) as f64 / (next.0 - one.0) as f64;
            let delay = (one.1 as f64 + ratio * (next.1 as f64 - one.1 as f64) + 1e-9) as u64;
            (base, begun, used, left) = (Some(delay), now, 0, 1400 - size);
            (at, bypass) = (now + delay, true);
        } else {
            let train = light[index].2;
            let elapsed = now - begun;
            while used < train.len() && elapsed > train[used] {
                (used, left) = (used + 1, 1400);
            }
            if left < size {
                (used, left) = (used + 1, 1400);
            }
            left -= size;
            let delay = base.expect("a train began");
            if used >= train.len() {
                (at, bypass) = ((now + delay).max(now + train[train.len() - 1]), false);
            } else {
                (at, bypass) = (now + delay + train[used] - elapsed, true);
            }
        }
        released = at;
        if at < last {
            (at, bypass) = (last, false);
        }
        last = at;
        delay_queue.push((at, number, bypass, size));
    }
    let mut delivered = vec![0; arrivals.len()];
    let (mut queue, mut sent) = (std::collections::VecDeque::new(), 0);
    let end = last + 100_000;
    let mut coming = delay_queue.into_iter().peekable();
    for ms in 0..end {
        // Opportunities of this millisecond are used by what came before it, which is counted until what is released was
        // looked at (`current_link_queue_size_`).
        let mut counted = queue.len();
        while heavy[sent % heavy.len()] + (sent / heavy.len()) as u64 * heavy[heavy.len() - 1] <= ms {
            sent += 1;
            let mut room = 1400;
            while let Some((number, bytes)) = queue.front_mut() {
                let part = room.min(*bytes);
                (*bytes, room) = (*bytes - part, room - part);
                if *bytes > 0 {
                    break;
                }
                delivered[*number] = ms;
                queue.pop_front();
            }
        }
        while let Some((_, number, bypass, size)) = coming.next_if(|(at, ..)| *at == ms) {
            if bypass && counted == 0 {
                delivered[number] = ms;
            } else {
                queue.push_back((number, size));
                counted += 1;
            }
        }
    }
    delivered
}

#[test]
fn light_and_heavy_traces_deliver_as_cellreplay_does() {
    let light: [(u64, u64, &[u64]); 4] =
        [(0, 20, &[0, 0, 2, 5]), (1_000, 41, &[1, 4]), (1_700, 25, &[0, 3, 3, 9, 20]), (3_000, 30, &[2])];
    let heavy = [0, 3, 3, 11, 40, 55];
    let text = |trains: &[(u64, u64, &[u64])]| {
        let line = |(at, delay, after): &(u64, u64, &[u64])| {
            let after: String = after.iter().map(|ms| format!(" {ms}")).collect();
            format!("{at} {delay}{after}\n")
        };
        trains.iter().map(line).collect::<String>()
    };
    let schedule: String = heavy.iter().map(|ms| format!("{ms}\n")).collect();
    let schedule = Trace::parse(&schedule).expect("a heavy trace");
    for seed in 0..20 {
        let mut random = StreamKey::new(seed).stream("arrivals");
        let (mut now, mut arrivals) = (0, Vec::new());
        for _ in 0..400 {
            now += if random.chance(0.2) { u64::from(random.up_to(400)) } else { u64::from(random.up_to(4)) };
            arrivals.push((now, 40 + random.up_to(1_352)));
        }
        let down = Direction {
            capacity: Capacity::of_trace(&schedule, OpportunitySize::CellReplay),
            light: Some(light_trace(&text(&light))),
            ..Direction::clean(Rate::mbps(1), 0)
        };
        let mut link = link(AccessConfig { mtu: 1392, ..config(down.clone(), down) });
        let mut seen = Seen::default();
        for (number, &(at, bytes)) in (0..).zip(&arrivals) {
            link.poll(Time::from_ns(at * MS), &mut seen);
            link.arrive(Time::from_ns(at * MS), NETWORK, packet(1, bytes, number));
        }
        while let Some(at) = link.next_event() {
            link.poll(at, &mut seen);
        }
        let mut found = vec![0; arrivals.len()];
        seen.delivered.iter().for_each(|&(at, _, number)| found[number as usize] = at / MS);
        let wanted = cellreplay(&light, &heavy, &arrivals);
        let differs = (0..400).find(|&n| found[n] != wanted[n]);
        assert_eq!(differs.map(|n| (seed, arrivals[n], found[n], wanted[n])), None);
        assert_eq!((seen.departed, link.queue(NETWORK).depth), (400, 0));
    }
}
