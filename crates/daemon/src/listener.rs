//! Listening sockets, each held against other processes, and connections with limits.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

use crate::DaemonError;
use crate::address::Address;

/// How long a caller may take to say who speaks: its first byte over HTTP, its preface over HTTP/2, its part of the TLS
/// handshake.
pub const GREETING: Duration = Duration::from_secs(10);
/// How long a caller over TLS may take to its first request: nothing before it can be told from noise.
const FIRST_REQUEST: Duration = Duration::from_secs(30);
/// Bytes that every connection over HTTP/2 starts with.
const PREFACE_BYTES: usize = 24;
/// What a unix socket lets: its owner and its group call.
const SOCKET_MODE: u32 = 0o660;

/// A socket that listens.
pub struct Listener {
    socket: Socket,
    greeting: Greeting,
    /// Callers that may be connected.
    permits: Arc<Semaphore>,
}

/// What a caller has to say soon, so that one that says nothing does not keep others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// A byte; the protocol has limits of its own for what follows.
    Byte,
    /// The preface of HTTP/2.
    Preface,
    /// Its first request.
    Request,
}

/// Whether a request has come on a connection. The server hands it on with each request.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<AtomicBool>);

impl Heard {
    /// Notes that a request has come.
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

enum Socket {
    Unix(UnixListener, SocketFile),
    Tcp(TcpListener),
}

/// A socket's file, removed in the end, and the lock that says whose it is.
struct SocketFile {
    path: PathBuf,
    _lock: File,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Listener {
    /// Listens at an address, with at most `max_connections` callers at a time; more wait.
    ///
    /// Errors: [`DaemonError::Held`] with the process that listens there.
    pub async fn bind(
        address: &Address,
        max_connections: usize,
        greeting: Greeting,
    ) -> Result<Self, DaemonError> {
        let socket = match address {
            Address::Tcp(tcp) => match TcpListener::bind(tcp).await {
                Ok(listener) => Socket::Tcp(listener),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    return Err(DaemonError::Held {
                        address: address.to_string(),
                        holder: "another process".to_owned(),
                    });
                }
                Err(source) => return Err(DaemonError::io(tcp.to_string(), "listen")(source)),
            },
            Address::Unix(path) => {
                let (listener, file) = bind_unix(path).await?;
                Socket::Unix(listener, file)
            }
        };
        let permits = Arc::new(Semaphore::new(max_connections.min(Semaphore::MAX_PERMITS)));
        Ok(Self {
            socket,
            greeting,
            permits,
        })
    }

    /// Where it listens, with the port that the system chose for port 0.
    pub fn address(&self) -> Result<Address, DaemonError> {
        match &self.socket {
            Socket::Unix(_, file) => Ok(Address::Unix(file.path.clone())),
            Socket::Tcp(listener) => {
                let address = listener.local_addr();
                address
                    .map(Address::Tcp)
                    .map_err(DaemonError::io("socket", "name"))
            }
        }
    }

    /// The next caller. Waits while there are as many as may be.
    pub async fn accept(&self) -> io::Result<Connection> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(io::Error::other)?;
        let io = match &self.socket {
            Socket::Unix(listener, _) => Io::Unix(listener.accept().await?.0),
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Io::Tcp(stream)
            }
        };
        let limit = match self.greeting {
            Greeting::Byte | Greeting::Preface => GREETING,
            Greeting::Request => FIRST_REQUEST,
        };
        Ok(Connection::new(io, self.greeting, limit, permit))
    }
}

/// Takes the path of a unix socket: from nobody, or from a process that is gone.
async fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), DaemonError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(DaemonError::io(folder, "make the folder"))?;
    }
    let lock = lock_socket(path)?;
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            // The lock is ours, so this is left over, or it is that of a program that takes no lock.
            if let Ok(stream) = UnixStream::connect(path).await {
                let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
                let process = process.map_or("(unknown)".to_owned(), |pid| pid.to_string());
                return Err(held(path, &process));
            }
            fs::remove_file(path).map_err(DaemonError::io(path, "remove"))?;
        }
        Ok(_) => {
            let source = io::Error::other("it is there and is no socket");
            return Err(DaemonError::io(path, "listen")(source));
        }
        Err(_) => {}
    }
    // Under its name the socket never has other permissions than it is to have.
    let unnamed = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&unnamed);
    let listener = UnixListener::bind(&unnamed).map_err(DaemonError::io(&unnamed, "listen"))?;
    fs::set_permissions(&unnamed, fs::Permissions::from_mode(SOCKET_MODE))
        .and_then(|()| fs::rename(&unnamed, path))
        .map_err(DaemonError::io(path, "name"))?;
    let path = path.to_owned();
    Ok((listener, SocketFile { path, _lock: lock }))
}

/// Takes the lock beside a socket and leaves this process's number in it.
fn lock_socket(path: &Path) -> Result<File, DaemonError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let lock = options
        .open(&lock_path)
        .map_err(DaemonError::io(&lock_path, "open"))?;
    match lock.try_lock() {
        Ok(()) => {
            // The number is for people: a full disk does not keep the lock from holding.
            let _ = fs::write(&lock_path, format!("{}\n", std::process::id()));
            Ok(lock)
        }
        Err(TryLockError::WouldBlock) => {
            let process = fs::read_to_string(&lock_path).unwrap_or_default();
            Err(held(path, process.trim()))
        }
        Err(TryLockError::Error(source)) => Err(DaemonError::io(lock_path, "lock")(source)),
    }
}

fn held(path: &Path, process: &str) -> DaemonError {
    DaemonError::Held {
        address: format!("unix://{}", path.display()),
        holder: format!("process {process}"),
    }
}

/// A connection to a caller. One that does not say what it has to in time is closed.
pub struct Connection {
    io: Io,
    /// Runs until the caller has said what it has to.
    silence: Option<Pin<Box<Sleep>>>,
    /// Bytes that are still to come until then; none where it is a request.
    missing: Option<usize>,
    heard: Heard,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn new(io: Io, greeting: Greeting, limit: Duration, permit: OwnedSemaphorePermit) -> Self {
        Self {
            io,
            silence: Some(Box::pin(sleep(limit))),
            missing: match greeting {
                Greeting::Byte => Some(1),
                Greeting::Preface => Some(PREFACE_BYTES),
                Greeting::Request => None,
            },
            heard: Heard::default(),
            _permit: permit,
        }
    }

    /// Notes that so many bytes have come.
    fn greeted(&mut self, bytes: usize) {
        if let Some(missing) = &mut self.missing {
            *missing = missing.saturating_sub(bytes);
        }
        if self.missing == Some(0) || self.heard.0.load(Ordering::Relaxed) {
            self.silence = None;
        }
    }
}

enum Io {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Connected for Connection {
    type ConnectInfo = Heard;

    fn connect_info(&self) -> Heard {
        self.heard.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = match &mut self.io {
            Io::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Io::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        self.greeted(buffer.filled().len() - before);
        match &mut self.silence {
            Some(silence) if read.is_pending() => {
                ready!(silence.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            _ => read,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Io::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Io::Tcp(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const LIMIT: Duration = Duration::from_millis(200);

    /// A connection that wants a greeting within the limit, and its caller.
    async fn pair(greeting: Greeting) -> (Connection, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("two ends");
        let permit = Arc::new(Semaphore::new(1)).acquire_owned().await;
        let permit = permit.expect("there is one");
        let connection = Connection::new(Io::Unix(ours), greeting, LIMIT, permit);
        (connection, theirs)
    }

    /// What becomes of a connection whose caller says so many bytes, one after the other, and then nothing.
    async fn is_closed(greeting: Greeting, bytes: usize) -> bool {
        let (mut connection, mut caller) = pair(greeting).await;
        for _ in 0..bytes {
            caller.write_all(b"P").await.expect("it is open");
            assert_eq!(connection.read_u8().await.expect("it is open"), b'P');
        }
        let read = tokio::time::timeout(3 * LIMIT, connection.read_u8()).await;
        match read {
            Ok(read) => read.expect_err("nothing came").kind() == io::ErrorKind::TimedOut,
            Err(_) => false,
        }
    }

    #[tokio::test]
    async fn whoever_says_too_little_is_let_go() {
        for (greeting, bytes, closed) in [
            (Greeting::Byte, 0, true),
            (Greeting::Byte, 1, false),
            (Greeting::Preface, 0, true),
            (Greeting::Preface, 1, true),
            (Greeting::Preface, 23, true),
            (Greeting::Preface, 24, false),
            (Greeting::Request, 0, true),
            (Greeting::Request, 100, true),
        ] {
            let found = is_closed(greeting, bytes).await;
            assert_eq!(found, closed, "{greeting:?} after {bytes} bytes");
        }
    }

    #[tokio::test]
    async fn a_request_is_a_greeting() {
        let (mut connection, _caller) = pair(Greeting::Request).await;
        connection.connect_info().note();
        let read = tokio::time::timeout(3 * LIMIT, connection.read_u8()).await;
        assert!(read.is_err(), "it stays open: {read:?}");
    }
}
