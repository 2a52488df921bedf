//! Unix and TCP sockets, who may call, and callers that mean no good.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::simulated::{Shared, Simulated};
use crate::support::{check, prove, request, start};
use cuzk_daemon::config::{Config, TlsFiles};
use cuzk_daemon::{Address, ClientTls, Daemon, DaemonError, connect};
use cuzk_proto::v1::GetStatusRequest;
use cuzk_queue::EmbeddedQueue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener};
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

fn unix(folder: &tempfile::TempDir) -> Address {
    Address::Unix(folder.path().join("run/cuzk.sock"))
}

async fn bind(listen: Address) -> Result<(Daemon, tempfile::TempDir), DaemonError> {
    let store = tempfile::tempdir().expect("a folder");
    let config = Config {
        listen,
        ..Config::default()
    };
    let queue = EmbeddedQueue::open(store.path(), config.queue.clone(), 1)?;
    let proving = Arc::new(Shared(Simulated::new()));
    Ok((
        Daemon::bind(config, false, Arc::new(queue), proving).await?,
        store,
    ))
}

#[tokio::test]
async fn a_unix_socket_is_its_groups_and_one_daemons() {
    let folder = tempfile::tempdir().expect("a folder");
    let daemon = start(|config| config.listen = unix(&folder)).await;
    let path = folder.path().join("run/cuzk.sock");
    let mode = std::fs::metadata(&path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o660);
    let mut client = daemon.client().await;
    let one = request(4, "one", b"x");
    check(
        &prove(&mut client, one.clone()).await.expect("it is proved"),
        &one,
    );

    match bind(unix(&folder)).await {
        Err(DaemonError::Held { holder, address }) => {
            assert_eq!(holder, format!("process {}", std::process::id()));
            assert_eq!(address, unix(&folder).to_string());
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("two listen at one socket"),
    }
    check(
        &prove(&mut client, one.clone())
            .await
            .expect("it still works"),
        &one,
    );
    daemon.end().await;
    assert!(!path.exists(), "the socket goes with its daemon");
}

#[tokio::test]
async fn what_is_left_of_a_socket_is_replaced_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cuzk.sock");
    drop(UnixListener::bind(&path).expect("it is free"));
    assert!(path.exists(), "a process that is killed leaves this");
    drop(
        bind(Address::Unix(path.clone()))
            .await
            .expect("it is replaced"),
    );

    // A program without a lock of ours.
    let other = UnixListener::bind(&path).expect("it is free");
    match bind(Address::Unix(path.clone())).await.map(drop) {
        Err(DaemonError::Held { holder, .. }) => {
            assert_eq!(holder, format!("process {}", std::process::id()));
        }
        found => panic!("{found:?}"),
    }
    drop(other);
    std::fs::remove_file(&path).expect("it is ours");
    std::fs::write(&path, b"precious").expect("it is ours");
    let refused = bind(Address::Unix(path.clone())).await.map(drop);
    assert!(
        matches!(refused, Err(DaemonError::Io { .. })),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(&path).expect("it is there"), b"precious");
}

#[tokio::test]
async fn a_port_is_one_daemons() {
    let daemon = start(|_| {}).await;
    let refused = bind(daemon.address.clone()).await.map(drop);
    assert!(
        matches!(refused, Err(DaemonError::Held { .. })),
        "{refused:?}"
    );
    let public = bind("0.0.0.0:0".parse().expect("an address"))
        .await
        .map(drop);
    assert!(
        matches!(public, Err(DaemonError::Open { .. })),
        "{public:?}"
    );
    daemon.end().await;
}

fn tcp_of(address: &Address) -> std::net::SocketAddr {
    match address {
        Address::Tcp(address) => *address,
        Address::Unix(_) => panic!("it is a unix socket"),
    }
}

#[tokio::test]
async fn a_token_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    std::fs::write(&token, "secret\n").expect("it is ours");
    let daemon = start(|config| config.token_file = Some(token)).await;
    let mut without = daemon.client().await;
    let refused = without
        .get_status(GetStatusRequest {})
        .await
        .expect_err("no token");
    assert_eq!(refused.code(), Code::Unauthenticated);
    let mut with = tonic::Request::new(GetStatusRequest {});
    let value = "Bearer secret".parse().expect("plain text");
    with.metadata_mut().insert("authorization", value);
    without.get_status(with).await.expect("the token is right");

    // Whether it lives may be asked by anyone.
    let url = format!("http://{}", tcp_of(&daemon.address));
    let channel = Channel::from_shared(url)
        .expect("a url")
        .connect()
        .await
        .expect("it listens");
    let service = "cuzk.v1.ProvingEngine".to_owned();
    let health = HealthClient::new(channel)
        .check(HealthCheckRequest { service })
        .await;
    assert_eq!(health.expect("it answers").into_inner().status, 1);
    daemon.end().await;
}

/// What the certificates are for.
const NAME: &str = "localhost";

/// A certificate and its key in PEM, signed by an authority.
fn signed(authority: &rcgen::Issuer<'_, rcgen::KeyPair>) -> (String, String) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, authority).expect("a signature");
    (certificate.pem(), key.serialize_pem())
}

fn authority() -> (String, rcgen::Issuer<'static, rcgen::KeyPair>) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::new(Vec::new()).expect("no name");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).expect("a signature").pem();
    (pem, rcgen::Issuer::new(params, key))
}

#[tokio::test]
async fn mutual_tls_lets_in_whom_the_authority_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ca, issuer) = authority();
    let (_, stranger) = authority();
    let (cert, key) = signed(&issuer);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is ours");
        path
    };
    let tls = TlsFiles {
        cert: write("cert.pem", &cert),
        key: write("key.pem", &key),
        client_ca: Some(write("ca.pem", &ca)),
    };
    let daemon = start(|config| {
        config.listen = "0.0.0.0:0".parse().expect("an address");
        config.tls = Some(tls);
    })
    .await;
    let port = tcp_of(&daemon.address).port();
    let address = Address::Tcp(([127, 0, 0, 1], port).into());
    let call = async |name: &str, identity: Option<(String, String)>| {
        let write = |(cert, key): (String, String)| {
            (write("client.pem", &cert), write("client-key.pem", &key))
        };
        let tls = ClientTls {
            authority: folder.path().join("ca.pem"),
            name: name.to_owned(),
            identity: identity.map(write),
        };
        let client = connect(&address, None, Some(&tls)).await;
        let mut client = client.map_err(drop)?;
        let answer = client.get_status(GetStatusRequest {}).await;
        answer.map(drop).map_err(drop)
    };
    assert_eq!(call(NAME, Some(signed(&issuer))).await, Ok(()));
    assert_eq!(call(NAME, None).await, Err(()));
    assert_eq!(call(NAME, Some(signed(&stranger))).await, Err(()));
    assert_eq!(call("another", Some(signed(&issuer))).await, Err(()));
    let plain = connect(&address, None, None).await;
    let answer = match plain {
        Ok(mut client) => client.get_status(GetStatusRequest {}).await.map_err(drop),
        Err(_) => Err(()),
    };
    assert!(answer.is_err(), "it talks TLS only");

    // The beginning of a handshake is none.
    let mut slow = TcpStream::connect(tcp_of(&address))
        .await
        .expect("it listens");
    slow.write_all(&[0x16, 3, 1, 2, 0, 1])
        .await
        .expect("it is read");
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(20), slow.read_to_end(&mut answer));
    let _ = closed.await.expect("whoever does not go on is let go");
    daemon.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_and_malformed_callers_do_no_harm() {
    let daemon = start(|config| config.max_connections = 60).await;
    let address = tcp_of(&daemon.address);
    let mut silent = Vec::new();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    for number in 0..50 {
        let mut caller = TcpStream::connect(address).await.expect("it listens");
        // Some say nothing, some a part of what they should.
        let said = &preface[..number % 24];
        caller.write_all(said).await.expect("it is read");
        silent.push(caller);
    }
    let frames: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        // A frame of 16 MiB, a SETTINGS frame on a stream, a HEADERS frame of noise, a stream that never was.
        &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1],
        &[0, 0, 0, 4, 0, 0, 0, 0, 9],
        &[0, 0, 4, 1, 4, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff],
        &[0, 0, 4, 8, 0, 0, 0, 0, 3, 0x7f, 0xff, 0xff, 0xff],
    ];
    for frame in frames {
        let mut caller = TcpStream::connect(address).await.expect("it listens");
        let bytes = if frame.starts_with(b"GET") {
            frame.to_vec()
        } else {
            [&preface, frame].concat()
        };
        caller.write_all(&bytes).await.expect("it is read");
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(20), caller.read_to_end(&mut answer));
        // An error that ends a connection is as good as its end.
        let _ = closed.await.expect("it is closed");
    }
    let mut client = daemon.client().await;
    let one = request(4, "one", b"x");
    check(
        &prove(&mut client, one.clone()).await.expect("it is proved"),
        &one,
    );

    let start = Instant::now();
    for mut caller in silent {
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(Duration::from_secs(20), caller.read_to_end(&mut answer));
        let _ = closed.await.expect("whoever stays silent is let go");
    }
    assert!(start.elapsed() < Duration::from_secs(20));
    daemon.end().await;
}

#[tokio::test]
async fn requests_share_a_budget_of_memory() {
    let daemon = start(|config| config.max_request_bytes = 1 << 20).await;
    let mut client = daemon.client().await;
    let large = request(1, "large", &vec![7; 2 << 20]);
    let refused = prove(&mut client, large)
        .await
        .expect_err("there is no room");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    for number in 0..5 {
        let fits = request(1, &format!("fits {number}"), &vec![7; 900 << 10]);
        check(
            &prove(&mut client, fits.clone())
                .await
                .expect("it is proved"),
            &fits,
        );
    }
    daemon.end().await;
}
