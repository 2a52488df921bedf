"""A client of cuzk.v1 that shares no code with the daemon: grpcio with stubs made from the interface.

usage: client.py CUZK VERIFY STUBS WORK
  CUZK   the program
  VERIFY the example verify_filecoin of cuzk-synth
  STUBS  the folder with cuzk_pb2.py and cuzk_pb2_grpc.py
  WORK   a folder for payloads, keys, proofs and jobs

Starts the daemon over a unix socket and over TCP, makes every call, proves the four kinds on a really sealed sector of
2 KiB, and holds each answer against filecoin-proofs' own verifying functions. Where there is a Chromium, it also looks at the
dashboard while jobs run.
"""

import atexit
import base64
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

CUZK, VERIFY, STUBS, WORK = *sys.argv[1:4], pathlib.Path(sys.argv[4])
sys.path.insert(0, STUBS)

import grpc  # noqa: E402
import cuzk_pb2 as pb  # noqa: E402
import cuzk_pb2_grpc as rpc  # noqa: E402
import dashboard  # noqa: E402
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase  # noqa: E402

MAX = 256 << 20
TCP, STATUS = "127.0.0.1:19820", "127.0.0.1:19821"
# Over a unix socket grpcio calls the server by its percent-encoded path, which is no authority of HTTP/2, so it is given one.
OPTIONS = [("grpc.default_authority", "cuzk"), ("grpc.max_send_message_length", MAX), ("grpc.max_receive_message_length", MAX)]
KINDS = {"porep": 1, "snap": 2, "window-post": 3, "winning-post": 4}
CIRCUITS = {"porep": "porep-2k", "snap": "snap-2k", "window-post": "wpost-2k", "winning-post": "winning-2k"}
COMPLETED, FAILED, CANCELLED, TIMEOUT = 1, 2, 3, 4


def say(text):
    print(text, flush=True)


def run(*arguments):
    subprocess.run([CUZK, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def prepare():
    """A sealed sector's payloads, and keys; made once."""
    if not (WORK / "kept").exists():
        run("demo", "--keep", WORK / "kept", "--pce", WORK / "pce")
    payloads = {}
    for file in (WORK / "kept").rglob("*.json"):
        found = json.loads(file.read_text())
        if isinstance(found, dict) and str(found.get("format", "")).startswith("cuzk-payload"):
            payloads[found["kind"]] = (file, found)
    assert sorted(payloads) == sorted(KINDS), sorted(payloads)
    keys = next((WORK / "kept").rglob("*.params")).parent
    return payloads, keys


def request_of(payload, name):
    raw = lambda field: base64.b64decode(payload.get(field) or "")
    return pb.SubmitProofRequest(
        request_id=name,
        proof_kind=KINDS[payload["kind"]],
        sector_size=2048,
        registered_proof=payload["registered_proof"],
        sector_number=payload["sector_number"],
        miner_id=payload["miner_id"],
        vanilla_proof=raw("vanilla_proof"),
        vanilla_proofs=[base64.b64decode(proof) for proof in payload.get("vanilla_proofs", [])],
        randomness=raw("randomness"),
        partition_index=payload.get("partition_index", 0),
        comm_r_old=raw("comm_r_old"),
        comm_r_new=raw("comm_r_new"),
        comm_d_new=raw("comm_d_new"),
    )


class Daemon:
    def __init__(self, listen, keys, store, *more):
        self.start = time.monotonic()
        self.process = subprocess.Popen(
            [CUZK, "serve", "--listen", listen, "--params", keys, "--pce", WORK / "pce", "--store", store, "--log-level", "warn", *more]
        )
        atexit.register(self.process.kill)
        self.channel = grpc.insecure_channel(listen, options=OPTIONS)
        grpc.channel_ready_future(self.channel).result(timeout=60)
        self.stub = rpc.ProvingEngineStub(self.channel)

    def end(self):
        self.channel.close()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=120) == 0


def check_proof(payload_file, keys, proof, name):
    path = WORK / f"{name}.proof"
    path.write_bytes(proof)
    settings = os.environ | {"FIL_PROOFS_PARAMETER_CACHE": str(keys), "FIL_PROOFS_PARENT_CACHE": str(WORK / "parents")}
    subprocess.run([VERIFY, payload_file, path], check=True, stdout=subprocess.DEVNULL, env=settings)


def refused(call, code, words=""):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, error
        assert words in error.details(), error
        return
    raise AssertionError(f"wanted {code}")


def check_refusals(stub, payloads):
    """Wrong arguments are told with their field."""
    invalid = grpc.StatusCode.INVALID_ARGUMENT

    def wrong(kind, field, **changes):
        request = request_of(payloads[kind][1], "wrong")
        for name, value in changes.items():
            if name == "vanilla_proofs":
                del request.vanilla_proofs[:]
                request.vanilla_proofs.extend(value)
            else:
                setattr(request, name, value)
        refused(lambda: stub.Prove(pb.ProveRequest(submit=request)), invalid, field)

    modulus = bytes.fromhex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")[::-1]
    wrong("porep", "vanilla_proof", vanilla_proof=b"")
    wrong("porep", "vanilla_proof", vanilla_proof=b"{}")
    wrong("porep", "proof_kind", proof_kind=0)
    wrong("porep", "registered_proof", registered_proof=999)
    wrong("porep", "sector_size", sector_size=3)
    wrong("snap", "comm_r_old", comm_r_old=bytes(31))
    wrong("snap", "comm_d_new", comm_d_new=modulus)
    wrong("window-post", "randomness", randomness=bytes(31))
    wrong("window-post", "partition_index", partition_index=3000)
    wrong("window-post", "vanilla_proofs", vanilla_proofs=[])
    # Kind and proof number disagree.
    wrong("winning-post", "registered_proof", proof_kind=3)


def check_calls(stub, payloads):
    """The calls besides Prove."""
    request = request_of(payloads["winning-post"][1], "calls")
    job = stub.SubmitProof(request)
    assert len(job.job_id) == 32, job
    done = stub.AwaitProof(pb.AwaitProofRequest(job_id=job.job_id, timeout_ms=600_000))
    assert done.status == COMPLETED and len(done.proof) == 192, done
    assert stub.SubmitProof(request).job_id == job.job_id
    assert stub.CancelProof(pb.CancelProofRequest(job_id=job.job_id)).was_running is False
    refused(lambda: stub.AwaitProof(pb.AwaitProofRequest(job_id="00" * 16)), grpc.StatusCode.NOT_FOUND)

    slow = stub.SubmitProof(request_of(payloads["porep"][1], "to be cancelled"))
    waited = stub.AwaitProof(pb.AwaitProofRequest(job_id=slow.job_id, timeout_ms=1))
    assert waited.status in (TIMEOUT, COMPLETED), waited
    stub.CancelProof(pb.CancelProofRequest(job_id=slow.job_id))
    waited = stub.AwaitProof(pb.AwaitProofRequest(job_id=slow.job_id, timeout_ms=60_000))
    assert waited.status in (CANCELLED, COMPLETED), waited

    status = stub.GetStatus(pb.GetStatusRequest(), timeout=5)
    assert status.gpus and len(status.queues) == 4 and status.total_proofs_completed >= 1, status
    assert any(key.circuit_id == "winning-2k" for key in status.loaded_srs), status
    metrics = stub.GetMetrics(pb.GetMetricsRequest()).prometheus_text
    assert 'cuzk_jobs_ended_total{kind="WINNING_POST",end="completed"}' in metrics
    assert stub.PreloadSRS(pb.PreloadSrsRequest(circuit_id="winning-2k"), timeout=600).already_loaded
    evicted = stub.EvictSRS(pb.EvictSrsRequest(circuit_id="winning-2k"), timeout=60)
    assert evicted.was_loaded and evicted.freed_bytes > 0, evicted
    assert not stub.PreloadSRS(pb.PreloadSrsRequest(circuit_id="winning-2k"), timeout=600).already_loaded


def check_services(channel):
    """Health and reflection."""
    health = health_pb2_grpc.HealthStub(channel)
    answer = health.Check(health_pb2.HealthCheckRequest(service="cuzk.v1.ProvingEngine"))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING, answer
    described = ProtoReflectionDescriptorDatabase(channel)
    assert "cuzk.v1.ProvingEngine" in described.get_services(), described.get_services()
    service = described.FindFileContainingSymbol("cuzk.v1.ProvingEngine").service[0]
    assert len(service.method) == 8, service


def check_dashboard(stub, payloads):
    """The page while jobs wait, run and have ended."""
    requests = [request_of(payloads["porep"][1], f"porep-1000-{number}") for number in range(20)]
    jobs = [stub.SubmitProof(request).job_id for request in requests]
    shown = dashboard.check(f"http://{STATUS}")
    for job in jobs:
        stub.CancelProof(pb.CancelProofRequest(job_id=job))
    if shown:
        assert "running" in shown[0]["jobs"] and "completed" in shown[0]["jobs"], shown
        say("the dashboard follows, light and dark")


def transport(listen, payloads, keys, store):
    daemon = Daemon(listen, keys, store, "--status-listen", STATUS)
    stub = daemon.stub
    first = stub.Prove(pb.ProveRequest(submit=request_of(payloads["winning-post"][1], f"first {listen}")))
    say(f"{listen}: start to first WinningPoSt {time.monotonic() - daemon.start:.2f} s; "
        f"wait {first.result.queue_wait_ms} ms, key {first.result.srs_load_ms} ms, witness {first.result.synthesis_ms} ms, "
        f"device {first.result.gpu_compute_ms} ms")
    for kind, (file, payload) in sorted(payloads.items()):
        answer = stub.Prove(pb.ProveRequest(submit=request_of(payload, f"{kind}-[1 2]"))).result
        assert answer.status == COMPLETED, answer
        check_proof(file, keys, answer.proof, f"{kind}-{len(listen)}")
        say(f"{listen}: {kind}: {len(answer.proof)} bytes in {answer.total_ms} ms, verified by filecoin-proofs")
    check_refusals(stub, payloads)
    check_calls(stub, payloads)
    check_services(daemon.channel)
    many = [request_of(payloads["winning-post"][1], f"many {number}") for number in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda request: stub.Prove(pb.ProveRequest(submit=request)).result, many))
    assert all(answer.status == COMPLETED and len(answer.proof) == 192 for answer in answers)
    if listen == TCP:
        check_dashboard(stub, payloads)
    say(f"{listen}: every call answers, wrong arguments are refused, 20 callers at a time get proofs")
    daemon.end()
    return first.result.job_id


def restarted(listen, payloads, keys, store, old_job):
    """A job of a daemon that was killed runs again, and an old proof is still there."""
    daemon = Daemon(listen, keys, store)
    assert daemon.stub.AwaitProof(pb.AwaitProofRequest(job_id=old_job)).status == COMPLETED
    job = daemon.stub.SubmitProof(request_of(payloads["porep"][1], "killed"))
    daemon.process.kill()
    daemon.process.wait()
    daemon.channel.close()
    daemon = Daemon(listen, keys, store)
    answer = daemon.stub.AwaitProof(pb.AwaitProofRequest(job_id=job.job_id))
    assert answer.status == COMPLETED, answer
    check_proof(payloads["porep"][0], keys, answer.proof, "killed")
    second = subprocess.run([CUZK, "serve", "--listen", "127.0.0.1:0", "--store", store], capture_output=True, text=True)
    assert second.returncode != 0 and f"process {daemon.process.pid}" in second.stderr, second
    daemon.end()
    say(f"{listen}: killed with a job in flight, which is proved after the restart; a second daemon is told who holds the store")


def main():
    payloads, keys = prepare()
    store = WORK / f"jobs-{os.getpid()}"
    socket = f"unix://{WORK.resolve()}/cuzk-{os.getpid()}.sock"
    job = transport(socket, payloads, keys, store)
    transport(TCP, payloads, keys, WORK / f"jobs-tcp-{os.getpid()}")
    restarted(socket, payloads, keys, store, job)
    say("all is well")


main()
