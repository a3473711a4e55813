"""Tasks of HyperQueue: processes, whose results it keeps in files."""

import os
import pathlib
import tempfile

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

import peer


class HyperQueue:
    def __init__(self, workers):
        self.cluster = LocalCluster(tempfile.mkdtemp(dir=peer.folder()))
        for _ in range(workers):
            self.cluster.start_worker(WorkerConfig(cores=1))
        self.client = self.cluster.client()
        self.program = os.environ["PEERS_PROGRAM"]

    def map(self, name, arguments):
        folder = pathlib.Path(tempfile.mkdtemp(dir=peer.folder()))
        job = Job()
        for number, each in enumerate(arguments):
            words = [self.program, name, *map(str, each)]
            job.program(words, stdout=str(folder / str(number)), stderr=None)
        self.client.wait_for_jobs([self.client.submit(job)])
        files = [folder / str(number) for number in range(len(arguments))]
        # The client looks once a second whether a job has ended; the last result was written before.
        self.ended = max(file.stat().st_mtime for file in files)
        return [int(file.read_text()) for file in files]

    def workers(self):
        raise NotImplementedError("the workers of a LocalCluster are threads, which cannot be killed one by one")

    def stop(self):
        self.cluster.stop()


if __name__ == "__main__":
    peer.serve(HyperQueue)
