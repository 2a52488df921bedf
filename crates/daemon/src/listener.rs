//! Listening sockets, each held against other processes, and connections with limits.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

use crate::DaemonError;
use crate::address::Address;

/// How long a caller may take to say its first byte.
const FIRST_BYTE: Duration = Duration::from_secs(10);
/// What a unix socket lets: its owner and its group call.
const SOCKET_MODE: u32 = 0o660;

/// A socket that listens.
pub struct Listener {
    socket: Socket,
    /// Callers that may be connected.
    permits: Arc<Semaphore>,
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
    pub async fn bind(address: &Address, max_connections: usize) -> Result<Self, DaemonError> {
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
        Ok(Self { socket, permits })
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
        Ok(Connection {
            io,
            silence: Some(Box::pin(sleep(FIRST_BYTE))),
            _permit: permit,
        })
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

/// A connection to a caller. One that stays silent from the start is closed.
pub struct Connection {
    io: Io,
    /// Runs until the first byte has come.
    silence: Option<Pin<Box<Sleep>>>,
    _permit: OwnedSemaphorePermit,
}

enum Io {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = match &mut self.io {
            Io::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Io::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
        };
        if read.is_ready() {
            self.silence = None;
        } else if let Some(silence) = &mut self.silence {
            ready!(silence.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
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
