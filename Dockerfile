# domainsync: docker build -t domainsync . ; docker run domainsync --help
FROM node:24.21-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# By its full name: npm would put the development dependency `node`, which is for checkouts, before the image's own.
RUN /usr/local/bin/node tools/build.ts && npm prune --omit=dev --ignore-scripts

FROM node:24.21-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY --from=build /build/src/bin.js ./src/bin.js
COPY --from=build /build/config/domainsync.yaml ./config/domainsync.yaml
# Downloads, and the embedded ClickHouse where it is used: a volume, owned by the user that domainsync runs as.
RUN mkdir -p /app/data && chown node:node /app/data
VOLUME /app/data
USER node
# Status page, health and metrics; worker.http must name 0.0.0.0:8080, and worker.token be set.
EXPOSE 8080
# A worker ends within 30 s of SIGTERM: docker stop -t 35
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/src/bin.js"]
CMD ["worker"]
