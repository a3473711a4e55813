"""Shows results as they come, with asyncio: `python first_come.py nqueens.wasm 12 8 10`."""

import asyncio
import sys

import sateen


async def main(module: str, numbers: list[str]) -> None:
    async with sateen.AsyncClient() as client:
        runs = [await client.submit(module, number) for number in numbers]
        async for run in client.as_completed(runs):
            status = await run.status()
            print(f"{status.arguments[0]} queens: {await run.result_json()}, on {status.hosts} hosts")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
