"""Tasks of Dask.distributed, as its documentation writes them: `client.gather(client.map(function, …))`."""

import os

from distributed import Client, LocalCluster

import kernel
import peer

FUNCTIONS = {"spin": kernel.spin, "queens": kernel.queens, "uts": kernel.uts}


class Dask:
    def __init__(self, workers):
        self.cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            local_directory=peer.folder(),
        )
        self.client = Client(self.cluster)

    def map(self, name, arguments):
        # Not pure: equal calls are not computed once only, and arguments need not be hashed.
        return self.client.gather(self.client.map(FUNCTIONS[name], *zip(*arguments), pure=False))

    def workers(self):
        return list(self.client.run(os.getpid).values())

    def stop(self):
        self.client.close()
        self.cluster.close()


if __name__ == "__main__":
    peer.serve(Dask)
